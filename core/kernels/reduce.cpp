#include "millrace/core/kernels/reduce.h"

#include <algorithm>

#include "millrace/core/cuda/kernels.h"
#include "millrace/core/errors.h"
#include "millrace/core/sizes.h"
#include "millrace/core/text.h"

namespace millrace {

namespace {

// Columns that one task sums.
constexpr int64_t kColumnBlock = 256;
// The caller's thread alone sums inputs of up to this many elements.
constexpr int64_t kSmall = 16384;

void check_dtype(std::string_view what, DType dtype) {
  if (dtype != DType::f32 && dtype != DType::f64) {
    throw ShapeError(cat(what, " needs float32 or float64, got ", to_string(dtype)));
  }
}

template <class T>
void sum_columns(Executor& executor, ConstTensorView input, const Destination& destination, void* scratch) {
  const int64_t rows = input.rows(), columns = input.columns(), stride = input.stride();
  const int64_t row_blocks = ceil_div(rows, kSumRows), column_blocks = ceil_div(columns, kColumnBlock);
  const T* const values = input.as<T>();
  T* const partial = static_cast<T*>(scratch);
  T* const result = destination.view.as<T>();
  const T alpha = destination.alpha != nullptr ? static_cast<T>(*destination.alpha) : T(1);
  const T beta = static_cast<T>(destination.beta);

  const auto sum_block = [=](int64_t block, int64_t begin, int64_t end) {
    T* const out = partial + block * columns;
    const int64_t first = block * kSumRows, last = std::min(rows, first + kSumRows);
    std::copy(values + first * stride + begin, values + first * stride + end, out + begin);
    for (int64_t row = first + 1; row < last; ++row) {
      const T* const in = values + row * stride;
      for (int64_t j = begin; j < end; ++j) out[j] += in[j];
    }
  };
  const auto join_blocks = [=](int64_t begin, int64_t end) {
    for (int64_t j = begin; j < end; ++j) {
      T total = T(0);
      for (int64_t block = 0; block < row_blocks; ++block) total += partial[block * columns + j];
      result[j] = beta == T(0) ? alpha * total : beta * result[j] + alpha * total;
    }
  };

  if (rows * columns <= kSmall) {
    executor.run([&] {
      for (int64_t block = 0; block < row_blocks; ++block) sum_block(block, 0, columns);
      join_blocks(0, columns);
    });
    return;
  }
  executor.parallel_for(row_blocks * column_blocks, [&](int64_t task) {
    const int64_t begin = task % column_blocks * kColumnBlock;
    sum_block(task / column_blocks, begin, std::min(columns, begin + kColumnBlock));
  });
  executor.parallel_for(column_blocks, [&](int64_t task) {
    join_blocks(task * kColumnBlock, std::min(columns, (task + 1) * kColumnBlock));
  });
}

// The sum of the elements [begin, end) in row-major order, one after another.
template <class T>
double sum_range(ConstTensorView values, int64_t begin, int64_t end) {
  const int64_t columns = values.columns();
  double total = 0;
  for (int64_t i = begin; i < end;) {
    const int64_t row = i / columns, stop = std::min(end, (row + 1) * columns);
    const T* in = values.as<T>() + row * values.stride() - row * columns;
    for (; i < stop; ++i) total += static_cast<double>(in[i]);
  }
  return total;
}

// The squares of `count` values in interleaved sums, so that they can be computed several at once.
template <class T>
double square_range(const T* values, int64_t count) {
  constexpr int64_t kLanes = 16;
  double lanes[kLanes] = {};
  const auto add = [&](int64_t lane, int64_t i) {
    const auto value = static_cast<double>(values[i]);
    lanes[lane] += value * value;
  };
  const int64_t whole = count / kLanes * kLanes;
  for (int64_t i = 0; i < whole; i += kLanes) {
    for (int64_t lane = 0; lane < kLanes; ++lane) add(lane, i + lane);
  }
  for (int64_t i = whole; i < count; ++i) add(i - whole, i);
  double total = 0;
  for (const double lane : lanes) total += lane;
  return total;
}

// The sum over blocks of kSumValues values of what `sum_of(begin, end)` gives, joined in order. REQUIRES: inside
// executor.run().
template <class F>
double join_ranges(Executor& executor, int64_t count, double* partial, const F& sum_of) {
  const int64_t blocks = ceil_div(count, kSumValues);
  const auto sum_block = [&](int64_t block) {
    partial[block] = sum_of(block * kSumValues, std::min(count, (block + 1) * kSumValues));
  };
  if (count <= kSmall) {
    for (int64_t block = 0; block < blocks; ++block) sum_block(block);
  } else {
    executor.parallel_for(blocks, sum_block);
  }
  double total = 0;
  for (int64_t block = 0; block < blocks; ++block) total += partial[block];
  return total;
}

}  // namespace

size_t column_sum_scratch(const TensorSpec& input) {
  if (input.shape.elements() == 0) return 0;
  const int64_t rows = input.shape[0], columns = input.shape.row().elements();
  return static_cast<size_t>(ceil_div(rows, kSumRows) * columns) * size_of(input.dtype);
}

void column_sum(Context& context, ConstTensorView input, const Destination& destination, void* scratch) {
  check_dtype("a column sum", input.dtype());
  if (!context.device().is_cpu()) return cuda::column_sum(context, input, destination, scratch);
  dispatch_float(input.dtype(), [&]<class T>() { sum_columns<T>(context.executor(), input, destination, scratch); });
}

size_t sum_scratch(int64_t count) { return static_cast<size_t>(ceil_div(count, kSumValues)) * sizeof(double); }

void sum(Context& context, ConstTensorView values, void* result, double scale, void* scratch) {
  check_dtype("a sum", values.dtype());
  if (!context.device().is_cpu()) return cuda::sum(context, values, result, scale, scratch);
  auto* const partial = static_cast<double*>(scratch);
  dispatch_float(values.dtype(), [&]<class T>() {
    context.executor().run([&] {
      const auto sum_of = [&](int64_t begin, int64_t end) { return sum_range<T>(values, begin, end); };
      const double total = join_ranges(context.executor(), values.elements(), partial, sum_of);
      *static_cast<T*>(result) = static_cast<T>(total * scale);
    });
  });
}

void square_sum(Context& context, ConstTensorView values, double* result, void* scratch) {
  check_dtype("a sum of squares", values.dtype());
  if (values.shape().rank() != 1) throw ShapeError(cat("a sum of squares needs a vector, got ", values.shape().text()));
  if (!context.device().is_cpu()) return cuda::square_sum(context, values, result, scratch);
  auto* const partial = static_cast<double*>(scratch);
  dispatch_float(values.dtype(), [&]<class T>() {
    context.executor().run([&] {
      *result = join_ranges(context.executor(), values.elements(), partial, [&](int64_t begin, int64_t end) {
        return square_range(values.as<T>() + begin, end - begin);
      });
    });
  });
}

}  // namespace millrace
