// The sums of reduce.h on CUDA: one launch each, or two where there is much to add up. Within a block of threads their
// shares are joined as a tree whose form depends on nothing.
#include <algorithm>

#include "millrace/core/cuda/check.h"
#include "millrace/core/cuda/kernels.h"
#include "millrace/core/cuda/launch.cuh"
#include "millrace/core/hd.h"
#include "millrace/core/kernels/reduce.h"
#include "millrace/core/sizes.h"

namespace millrace::cuda {

namespace {

template <class T>
struct ColumnSums {
  const T* input;
  T* result;
  int64_t stride;
  const float* alpha;
  T beta;
  MILLRACE_HD T load(int64_t row, int64_t column) const { return input[row * stride + column]; }
  MILLRACE_HD T term(T value, int64_t, int64_t) const { return value; }
  MILLRACE_HD void store(int64_t column, T sum) const {
    const T scaled = alpha != nullptr ? static_cast<T>(*alpha) * sum : sum;
    result[column] = beta == T(0) ? scaled : beta * result[column] + scaled;
  }
};

template <class T>
void column_sum_of(State& state, ConstTensorView input, const Destination& destination, void* scratch) {
  if (input.columns() == 0) return;
  launch_columns<T>(state, input.rows(), input.columns(),
                    ColumnSums<T>{input.as<T>(), destination.view.as<T>(), input.stride(), destination.alpha,
                                  static_cast<T>(destination.beta)},
                    scratch);
}

constexpr int kSumThreads = 256;

// The sum of the block's threads' values, on thread 0. Every thread calls it.
__device__ double join_threads(double value) {
  __shared__ double shares[kSumThreads];
  const int thread = static_cast<int>(threadIdx.x);
  shares[thread] = value;
  for (int half = kSumThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (thread < half) shares[thread] += shares[thread + half];
  }
  return shares[0];
}

struct Same {
  __device__ double operator()(double value) const { return value; }
};
struct Square {
  __device__ double operator()(double value) const { return value * value; }
};

// As many values as one thread block adds up alone.
constexpr int64_t kSumAtOnce = 8 * kSumValues;

template <class T, class F, class R>
__global__ void __launch_bounds__(kSumThreads)
    sum_at_once(const T* values, int64_t count, int64_t columns, int64_t stride, double scale, R* result) {
  double total = 0;
  for (int64_t i = threadIdx.x; i < count; i += kSumThreads) {
    total += F{}(static_cast<double>(values[i / columns * stride + i % columns]));
  }
  total = join_threads(total);
  if (threadIdx.x == 0) *result = static_cast<R>(total * scale);
}

// One thread block for each kSumValues values.
template <class T, class F>
__global__ void __launch_bounds__(kSumThreads)
    sum_blocks(const T* values, int64_t count, int64_t columns, int64_t stride, double* partial) {
  const int64_t first = static_cast<int64_t>(blockIdx.x) * kSumValues;
  const int64_t last = count < first + kSumValues ? count : first + kSumValues;
  double total = 0;
  for (int64_t i = first + threadIdx.x; i < last; i += kSumThreads) {
    total += F{}(static_cast<double>(values[i / columns * stride + i % columns]));
  }
  total = join_threads(total);
  if (threadIdx.x == 0) partial[blockIdx.x] = total;
}

template <class T>
__global__ void __launch_bounds__(kSumThreads)
    join_blocks(const double* partial, int64_t blocks, double scale, T* result) {
  double total = 0;
  for (int64_t i = threadIdx.x; i < blocks; i += kSumThreads) total += partial[i];
  total = join_threads(total);
  if (threadIdx.x == 0) *result = static_cast<T>(total * scale);
}

// *result of type R = the sum of F of the values, times scale.
template <class T, class F, class R>
void sum_of(State& state, ConstTensorView values, R* result, double scale, void* scratch) {
  const int64_t count = values.elements(), blocks = ceil_div(count, kSumValues);
  if (count <= kSumAtOnce) {
    launch_kernel(state, 1, kSumThreads, sum_at_once<T, F, R>, values.as<T>(), count, values.columns(), values.stride(),
                  scale, result);
    return;
  }
  auto* partial = static_cast<double*>(scratch);
  launch_kernel(state, blocks, kSumThreads, sum_blocks<T, F>, values.as<T>(), count, values.columns(), values.stride(),
                partial);
  launch_kernel(state, 1, kSumThreads, join_blocks<R>, partial, blocks, scale, result);
}

}  // namespace

void column_sum(Context& context, ConstTensorView input, const Destination& destination, void* scratch) {
  State& state = context.cuda();
  const DeviceGuard guard(state.device());
  if (input.dtype() == DType::f64) {
    column_sum_of<double>(state, input, destination, scratch);
  } else {
    column_sum_of<float>(state, input, destination, scratch);
  }
}

void sum(Context& context, ConstTensorView values, void* result, double scale, void* scratch) {
  State& state = context.cuda();
  const DeviceGuard guard(state.device());
  if (values.dtype() == DType::f64) {
    sum_of<double, Same>(state, values, static_cast<double*>(result), scale, scratch);
  } else {
    sum_of<float, Same>(state, values, static_cast<float*>(result), scale, scratch);
  }
}

void square_sum(Context& context, ConstTensorView values, double* result, void* scratch) {
  State& state = context.cuda();
  const DeviceGuard guard(state.device());
  if (values.dtype() == DType::f64) {
    sum_of<double, Square>(state, values, result, 1, scratch);
  } else {
    sum_of<float, Square>(state, values, result, 1, scratch);
  }
}

}  // namespace millrace::cuda
