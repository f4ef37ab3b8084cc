// The sums of reduce.h on CUDA: each takes one launch, or two if there is much to add up.
#include "millrace/core/cuda/kernels.h"
#include "millrace/core/cuda/state.h"
#include "millrace/core/kernels/reduce.h"
#include "millrace/core/parallel.h"
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

struct Same {
  MILLRACE_HD double operator()(double value) const { return value; }
};
struct Square {
  MILLRACE_HD double operator()(double value) const { return value * value; }
};

// Each row of lanes adds up F of `block` values, and stores the sum times `scale`.
template <class T, class F, class R>
struct SumBlocks {
  const T* values;
  int64_t count, block, columns, stride;
  double scale;
  R* sums;
  template <class Lanes>
  MILLRACE_HD void operator()(int64_t at, const Lanes& lanes) const {
    const int64_t first = at * block, left = count - first;
    const double sum = lanes.sum(left < block ? left : block, [&](int64_t i) { return F{}(value(first + i)); });
    if (lanes.first()) sums[at] = static_cast<R>(sum * scale);
  }
  MILLRACE_HD double value(int64_t i) const {
    // Contiguous values need no division, which would take longer than everything else.
    return static_cast<double>(values[columns == count ? i : i / columns * stride + i % columns]);
  }
};

constexpr int kSumLanes = 256;
// Up to this many values are added up by one thread block in one launch.
constexpr int64_t kSumAtOnce = 8 * kSumValues;

// *result of type R = the sum of F of the values, times scale. Unlike CUB's own sums, this one has the same order on
// every GPU, and the shape decides the scratch.
template <class T, class F, class R>
void sum_of(State& state, ConstTensorView values, R* result, double scale, void* scratch) {
  const int64_t count = values.elements(), columns = values.contiguous() ? count : values.columns();
  if (count <= kSumAtOnce) {
    launch_rows(state, 1, kSumLanes,
                SumBlocks<T, F, R>{values.as<T>(), count, kSumAtOnce, columns, values.stride(), scale, result});
    return;
  }
  const int64_t blocks = ceil_div(count, kSumValues);
  auto* const partial = static_cast<double*>(scratch);
  launch_rows(state, blocks, kSumLanes,
              SumBlocks<T, F, double>{values.as<T>(), count, kSumValues, columns, values.stride(), 1, partial});
  launch_rows(state, 1, kSumLanes, SumBlocks<double, Same, R>{partial, blocks, blocks, blocks, 1, scale, result});
}

}  // namespace

void column_sum(Context& context, ConstTensorView input, const Destination& destination, void* scratch) {
  if (input.columns() == 0) return;
  dispatch_float(input.dtype(), [&]<class T>() {
    launch_columns<T>(context.cuda(), input.rows(), input.columns(),
                      ColumnSums<T>{input.as<T>(), destination.view.as<T>(), input.stride(), destination.alpha,
                                    static_cast<T>(destination.beta)},
                      scratch);
  });
}

void sum(Context& context, ConstTensorView values, void* result, double scale, void* scratch) {
  dispatch_float(values.dtype(),
                 [&]<class T>() { sum_of<T, Same>(context.cuda(), values, static_cast<T*>(result), scale, scratch); });
}

void square_sum(Context& context, ConstTensorView values, double* result, void* scratch) {
  dispatch_float(values.dtype(), [&]<class T>() { sum_of<T, Square>(context.cuda(), values, result, 1, scratch); });
}

}  // namespace millrace::cuda
