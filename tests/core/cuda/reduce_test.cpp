#include "millrace/core/kernels/reduce.h"

#include <gtest/gtest.h>

#include <limits>

#include "tests/support/cuda.h"
#include "tests/support/sanitized.h"

namespace millrace {
namespace {

class CudaReduce : public test::CudaTest {
 protected:
  // Small whole numbers, whose sums are exact in any order; padding is NaN.
  template <class T>
  static std::vector<T> whole_numbers(int64_t rows, int64_t columns, int64_t padding) {
    std::vector<T> values(static_cast<size_t>(rows * (columns + padding)), std::numeric_limits<T>::quiet_NaN());
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < columns; ++j) {
        values[static_cast<size_t>(i * (columns + padding) + j)] = static_cast<T>((i * 7 + j * 13) % 23 - 11);
      }
    }
    return values;
  }

  template <class T>
  static ConstTensorView view_of(const Memory& memory, int64_t rows, int64_t columns, int64_t padding) {
    return {memory.data(), DTypeOf<T>::value, {rows, columns}, static_cast<size_t>(columns + padding) * sizeof(T)};
  }

  template <class T>
  void check_column_sums(int64_t rows, int64_t columns, int64_t padding) {
    const auto values = whole_numbers<T>(rows, columns, padding);
    const Memory input = upload(values), alpha = upload<float>({-2});
    const ConstTensorView view = view_of<T>(input, rows, columns, padding);
    const Memory scratch(context().device(), column_sum_scratch(view.spec()));
    std::vector<T> once(static_cast<size_t>(columns), 0), added = once;
    for (int64_t j = 0; j < columns; ++j) {
      T total = 0;
      for (int64_t i = 0; i < rows; ++i) total += values[static_cast<size_t>(i * (columns + padding) + j)];
      once[static_cast<size_t>(j)] = total;
      added[static_cast<size_t>(j)] = 100 - 2 * total;
    }
    const auto run = [&](T before, float beta, const float* factor) {
      const Memory result = upload(std::vector<T>(static_cast<size_t>(columns), before));
      column_sum(context(), view, {TensorView(result.data(), view.dtype(), {columns}), beta, factor}, scratch.data());
      return download<T>(result.data(), static_cast<size_t>(columns));
    };
    ASSERT_EQ(run(std::numeric_limits<T>::quiet_NaN(), 0, nullptr), once) << rows << " x " << columns;
    ASSERT_EQ(run(100, 1, static_cast<const float*>(alpha.data())), added) << rows << " x " << columns;
  }

  template <class T>
  T sum_of(const std::vector<T>& values, ConstTensorView view, double scale) {
    const Memory input = upload(values), scratch(context().device(), sum_scratch(view.elements()));
    const Memory result = upload(std::vector<T>(1, -1));
    sum(context(), ConstTensorView(input.data(), view.dtype(), view.shape(), view.row_bytes()), result.data(), scale,
        scratch.data());
    return download<T>(result.data(), 1)[0];
  }
};

TEST_F(CudaReduce, SumsColumns) {
  for (const int64_t rows : {1, 2, 15, 16, 17, 300, 1024, 1025, 2600}) {
    for (const int64_t columns : {1, 3, 31, 32, 33, 257}) {
      // An emulated GPU takes seconds for a million values.
      if (test::kSanitized && rows * columns > 20'000) continue;
      for (const int64_t padding : {0, 5}) {
        check_column_sums<float>(rows, columns, padding);
        check_column_sums<double>(rows, columns, padding);
      }
    }
  }
}

TEST_F(CudaReduce, SumsColumnsNearlyAsTheCpuDoes) {
  const auto values = test::random_values<float>(300 * 700, "columns");
  const Memory input = upload(values), result(context().device(), 700 * sizeof(float));
  const Memory scratch(context().device(), column_sum_scratch({{300, 700}, DType::f32}));
  column_sum(context(), ConstTensorView(input.data(), DType::f32, {300, 700}),
             {TensorView(result.data(), DType::f32, {700}), 0, nullptr}, scratch.data());

  Executor executor(2);
  Context cpu(Device::cpu(), executor);
  std::vector<float> expected(700);
  std::vector<char> host_scratch(column_sum_scratch({{300, 700}, DType::f32}));
  column_sum(cpu, ConstTensorView(values.data(), DType::f32, {300, 700}),
             {TensorView(expected.data(), DType::f32, {700}), 0, nullptr}, host_scratch.data());
  const std::vector<float> sums = download<float>(result.data(), 700);
  for (size_t i = 0; i < sums.size(); ++i) EXPECT_NEAR(sums[i], expected[i], 2e-5F) << i;
}

TEST_F(CudaReduce, SumsAll) {
  for (const int64_t count : {0, 1, 2, 255, 256, 257, 1025, 8192, 8193, 300'000}) {
    const auto values = whole_numbers<float>(1, count, 0);
    double expected = 0;
    for (const float value : values) expected += static_cast<double>(value);
    const ConstTensorView view(nullptr, DType::f32, {count});
    EXPECT_EQ(sum_of(values, view, 0.5), static_cast<float>(expected * 0.5)) << count;
    const std::vector<double> wide(values.begin(), values.end());
    EXPECT_EQ(sum_of(wide, ConstTensorView(nullptr, DType::f64, {count}), -2), expected * -2) << count;
  }
}

TEST_F(CudaReduce, SumsPaddedRows) {
  const auto values = whole_numbers<float>(37, 100, 12);
  double expected = 0;
  for (const float value : values) expected += value == value ? static_cast<double>(value) : 0;
  const ConstTensorView view(nullptr, DType::f32, {37, 100}, 112 * sizeof(float));
  EXPECT_EQ(sum_of(values, view, 1), static_cast<float>(expected));
}

TEST_F(CudaReduce, SumsSquares) {
  for (const int64_t count : {int64_t{0}, int64_t{1}, int64_t{1025}, int64_t{1'000'003}}) {
    const auto values = whole_numbers<float>(1, count, 0);
    double expected = 0;
    for (const float value : values) expected += static_cast<double>(value * value);
    const Memory input = upload(values), scratch(context().device(), sum_scratch(count));
    const Memory result(context().device(), sizeof(double));
    square_sum(context(), ConstTensorView(input.data(), DType::f32, {count}), static_cast<double*>(result.data()),
               scratch.data());
    EXPECT_EQ(download<double>(result.data(), 1)[0], expected) << count;
  }
}

TEST_F(CudaReduce, GivesTheSameBitsEveryTime) {
  const int64_t count = test::kEmulated ? 100'000 : 1'000'000;
  const auto values = test::random_values<float>(static_cast<size_t>(count), "sum");
  const ConstTensorView view(nullptr, DType::f32, {count});
  const float first = sum_of(values, view, 1e-3);
  for (int round = 0; round < 5; ++round) EXPECT_EQ(sum_of(values, view, 1e-3), first);
}

}  // namespace
}  // namespace millrace
