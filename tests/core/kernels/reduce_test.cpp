#include "millrace/core/kernels/reduce.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "millrace/core/errors.h"
#include "millrace/core/random.h"

namespace millrace {
namespace {

// Small whole numbers, whose sums are exact in any order; `padding` elements of NaN behind each row.
template <class T>
std::vector<T> whole_numbers(int64_t rows, int64_t columns, int64_t padding) {
  std::vector<T> out(static_cast<size_t>(rows * (columns + padding)), std::numeric_limits<T>::quiet_NaN());
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      out[static_cast<size_t>(i * (columns + padding) + j)] = static_cast<T>((i * 7 + j * 13) % 23 - 11);
    }
  }
  return out;
}

template <class T>
ConstTensorView view_of(const std::vector<T>& data, int64_t rows, int64_t columns, int64_t padding) {
  return {data.data(), DTypeOf<T>::value, {rows, columns}, static_cast<size_t>(columns + padding) * sizeof(T)};
}

template <class T>
std::vector<T> column_sums(Context& context, ConstTensorView input, std::vector<T> result, float beta,
                           const float* alpha) {
  std::vector<char> scratch(column_sum_scratch(input.spec()) + 1, 77);
  const Destination to{TensorView(result.data(), input.dtype(), {input.columns()}), beta, alpha};
  column_sum(context, input, to, scratch.data());
  EXPECT_EQ(scratch.back(), 77) << "wrote behind its scratch";
  return result;
}

template <class T>
void check_column_sums(Context& context) {
  const float minus_two = -2;
  for (const int64_t rows : {1, 2, 63, 64, 65, 128, 200}) {
    for (const int64_t columns : {1, 3, 255, 256, 257, 600}) {
      for (const int64_t padding : {0, 5}) {
        const auto data = whole_numbers<T>(rows, columns, padding);
        std::vector<T> expected(static_cast<size_t>(columns), 0);
        for (int64_t i = 0; i < rows; ++i) {
          for (int64_t j = 0; j < columns; ++j) {
            expected[static_cast<size_t>(j)] += data[static_cast<size_t>(i * (columns + padding) + j)];
          }
        }
        const ConstTensorView input = view_of(data, rows, columns, padding);
        const std::vector<T> nan(expected.size(), std::numeric_limits<T>::quiet_NaN());
        ASSERT_EQ(column_sums(context, input, nan, 0, nullptr), expected) << input.shape().text();
        const std::vector<T> hundred(expected.size(), 100);
        for (T& value : expected) value = 100 - 2 * value;
        ASSERT_EQ(column_sums(context, input, hundred, 1, &minus_two), expected) << input.shape().text();
      }
    }
  }
}

TEST(ColumnSum, AddsRowsAroundTheBlockEdges) {
  Executor executor(2);
  Context context(Device::cpu(), executor);
  check_column_sums<float>(context);
  check_column_sums<double>(context);
}

std::vector<float> uneven(size_t count) {
  std::vector<float> out(count);
  for (size_t i = 0; i < count; ++i) out[i] = static_cast<float>(to_unit(philox64(3, 1, i)) - 0.3);
  return out;
}

TEST(ColumnSum, JoinsItsBlocksInOrder) {
  Executor executor(2);
  Context context(Device::cpu(), executor);
  const auto data = uneven(150 * 7);
  const auto result = column_sums(context, view_of(data, 150, 7, 0), std::vector<float>(7), 0, nullptr);
  for (size_t j = 0; j < 7; ++j) {
    float total = 0;
    for (size_t begin = 0; begin < 150; begin += kSumRows) {
      float block = data[begin * 7 + j];
      for (size_t i = begin + 1; i < std::min<size_t>(150, begin + kSumRows); ++i) block += data[i * 7 + j];
      total += block;
    }
    EXPECT_EQ(result[j], total);
  }
}

TEST(ColumnSum, GivesTheSameBitsOnAnyNumberOfThreads) {
  const auto data = uneven(1000 * 300);
  std::vector<float> first;
  for (const int threads : {1, 2, 3, 8}) {
    Executor executor(threads);
    Context context(Device::cpu(), executor);
    const auto result = column_sums(context, view_of(data, 1000, 300, 0), std::vector<float>(300), 0, nullptr);
    if (first.empty()) first = result;
    EXPECT_EQ(std::memcmp(first.data(), result.data(), first.size() * sizeof(float)), 0) << threads;
  }
}

template <class T>
T total_of(Context& context, ConstTensorView values, double scale) {
  std::vector<double> scratch(sum_scratch(values.elements()) / sizeof(double) + 1, 77);
  T result = -1;
  sum(context, values, &result, scale, scratch.data());
  EXPECT_EQ(scratch.back(), 77) << "wrote behind its scratch";
  return result;
}

TEST(Sum, AddsEveryValueAndScales) {
  Executor executor(2);
  Context context(Device::cpu(), executor);
  for (const int64_t rows : {1, 2, 300}) {
    for (const int64_t columns : {1, 3, 1023, 1024, 1025}) {
      for (const int64_t padding : {0, 5}) {
        const auto data = whole_numbers<double>(rows, columns, padding);
        double expected = 0;
        for (const double value : data) expected += value == value ? value : 0;
        ASSERT_EQ(total_of<double>(context, view_of(data, rows, columns, padding), 0.5), expected / 2);
      }
    }
  }
  EXPECT_EQ(total_of<float>(context, ConstTensorView(nullptr, DType::f32, {0}), 3), 0);
}

TEST(Sum, OfFloatsIsAccumulatedInDouble) {
  Executor executor(1);
  Context context(Device::cpu(), executor);
  std::vector<float> data(10001, 1e-4f);
  data[0] = 10000;
  EXPECT_EQ(total_of<float>(context, view_of(data, 1, 10001, 0), 1), 10001.0f);
}

TEST(Sum, GivesTheSameBitsOnAnyNumberOfThreadsAndForAnyPadding) {
  const auto data = uneven(100 * 1000);
  std::vector<float> padded;
  for (size_t i = 0; i < 100; ++i) {
    padded.insert(padded.end(), data.begin() + static_cast<int64_t>(i) * 1000,
                  data.begin() + static_cast<int64_t>(i + 1) * 1000);
    padded.resize(padded.size() + 3);
  }
  Executor one(1);
  Context single(Device::cpu(), one);
  const float first = total_of<float>(single, view_of(data, 100, 1000, 0), 1);
  for (const int threads : {1, 2, 3, 8}) {
    Executor executor(threads);
    Context context(Device::cpu(), executor);
    EXPECT_EQ(total_of<float>(context, view_of(data, 100, 1000, 0), 1), first);
    EXPECT_EQ(total_of<float>(context, view_of(padded, 100, 1000, 3), 1), first);
  }
}

template <class T>
double squares_of(Context& context, const std::vector<T>& values) {
  const auto count = static_cast<int64_t>(values.size());
  std::vector<double> scratch(sum_scratch(count) / sizeof(double) + 1, 77);
  double result = -1;
  square_sum(context, ConstTensorView(values.data(), DTypeOf<T>::value, Shape{count}), &result, scratch.data());
  EXPECT_EQ(scratch.back(), 77) << "wrote behind its scratch";
  return result;
}

TEST(SquareSum, AddsTheSquareOfEveryValue) {
  Executor executor(2);
  Context context(Device::cpu(), executor);
  for (const int64_t count : {0, 1, 15, 16, 17, 1023, 1024, 1025, 16384, 16385, 50001}) {
    const auto narrow = whole_numbers<float>(1, count, 0);
    double expected = 0;
    for (const float value : narrow) expected += static_cast<double>(value * value);
    EXPECT_EQ(squares_of(context, narrow), expected) << count;
    EXPECT_EQ(squares_of(context, whole_numbers<double>(1, count, 0)), expected) << count;
  }
}

TEST(SquareSum, IsFiniteWhereTheValuesAre) {
  Executor executor(2);
  Context context(Device::cpu(), executor);
  std::vector<float> values(3000, std::numeric_limits<float>::max());
  EXPECT_TRUE(std::isfinite(squares_of(context, values)));
  for (const size_t at : {size_t{0}, size_t{1030}, values.size() - 1}) {
    for (const float bad : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
      std::vector<float> changed = values;
      changed[at] = bad;
      EXPECT_FALSE(std::isfinite(squares_of(context, changed))) << at;
    }
  }
}

TEST(SquareSum, GivesTheSameBitsOnAnyNumberOfThreads) {
  const auto data = uneven(100'003);
  std::vector<double> results;
  for (const int threads : {1, 2, 3, 8}) {
    Executor executor(threads);
    Context context(Device::cpu(), executor);
    results.push_back(squares_of(context, data));
    EXPECT_EQ(results.back(), results.front()) << threads;
  }
}

TEST(Reduce, RejectsOtherTypes) {
  Executor executor(1);
  Context context(Device::cpu(), executor);
  int32_t value = 1;
  const TensorView view(&value, DType::i32, {1, 1});
  try {
    column_sum(context, view, {view.first_rows(1), 0, nullptr}, nullptr);
    FAIL();
  } catch (const ShapeError& error) {
    EXPECT_STREQ(error.what(), "a column sum needs float32 or float64, got int32");
  }
  try {
    sum(context, view, &value, 1, nullptr);
    FAIL();
  } catch (const ShapeError& error) {
    EXPECT_STREQ(error.what(), "a sum needs float32 or float64, got int32");
  }
  double result = 0;
  const float numbers[] = {1, 2};
  try {
    square_sum(context, ConstTensorView(numbers, DType::f32, {1, 2}), &result, nullptr);
    FAIL();
  } catch (const ShapeError& error) {
    EXPECT_STREQ(error.what(), "a sum of squares needs a vector, got (1, 2)");
  }
}

}  // namespace
}  // namespace millrace
