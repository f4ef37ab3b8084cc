#include "millrace/core/parallel.h"

#include <gtest/gtest.h>

#include <cfenv>
#include <cstdint>
#include <vector>

namespace millrace {
namespace {

struct AddIndex {
  int64_t* out;
  void operator()(int64_t i) const { out[i] += i + 1; }
};

TEST(ForEachIndex, VisitsEveryIndexOnce) {
  for (const int threads : {1, 3}) {
    Executor executor(threads);
    Context context(Device::cpu(), executor);
    for (const int64_t count :
         {int64_t{0}, int64_t{1}, kIndexBlock - 1, kIndexBlock, kIndexBlock + 1, 5 * kIndexBlock + 7}) {
      std::vector<int64_t> out(static_cast<size_t>(count) + 1);
      for_each_index(context, count, AddIndex{out.data()});
      for (int64_t i = 0; i < count; ++i) ASSERT_EQ(out[static_cast<size_t>(i)], i + 1);
      EXPECT_EQ(out.back(), 0);
    }
    for_each_index(context, -1, AddIndex{nullptr});
  }
}

TEST(ForEachIndex, SaysHowAFileRunsOnAGpu) {
  try {
    throw_not_cuda();
  } catch (const DeviceError& error) {
    EXPECT_EQ(error.message(), "this operation was compiled as C++, which runs only on the CPU");
    EXPECT_EQ(error.hint(),
              "set device: cpu, or have nvcc compile its file: millrace_add_plugin(NAME FILE CUDA), or in a program "
              "millrace_cuda_sources(TARGET FILE)");
  }
}

struct AddRowColumn {
  int64_t* out;
  int64_t stride;
  void operator()(int64_t row, int64_t column) const { out[row * stride + column] += 1000 * row + column + 1; }
};

TEST(ForEachRowColumn, VisitsEveryElementAndNoPadding) {
  Executor executor(3);
  Context context(Device::cpu(), executor);
  for (const int64_t rows : {0, 1, 2, 100}) {
    for (const int64_t columns : {0, 1, 3, 999, 20000}) {
      const int64_t stride = columns + 2;
      std::vector<int64_t> out(static_cast<size_t>(rows * stride));
      for_each_row_column(context, rows, columns, AddRowColumn{out.data(), stride});
      for (int64_t i = 0; i < rows; ++i) {
        for (int64_t j = 0; j < stride; ++j) {
          ASSERT_EQ(out[static_cast<size_t>(i * stride + j)], j < columns ? 1000 * i + j + 1 : 0);
        }
      }
    }
  }
}

TEST(RowColumnBody, SplitsAnIndex) {
  std::vector<int64_t> out(6);
  const RowColumnBody<AddRowColumn> body{{out.data(), 3}, 3};
  for (int64_t i = 0; i < 6; ++i) body(i);
  EXPECT_EQ(out, (std::vector<int64_t>{1, 2, 3, 1001, 1002, 1003}));
}

struct Third {
  float* out;
  void operator()(int64_t i) const { out[i] = 1.0f / out[i]; }
  void operator()(int64_t row, int64_t) const { out[row] = 1.0f / out[row]; }
};

// Small loops stay on the caller's thread, but not in its floating-point mode.
TEST(ForEachIndex, TheHostsRoundingDoesNotMatter) {
  Executor executor(2);
  Context context(Device::cpu(), executor);
  std::vector<float> out = {3}, by_row = {3};
  std::fesetround(FE_UPWARD);
  for_each_index(context, 1, Third{out.data()});
  for_each_row_column(context, 1, 1, Third{by_row.data()});
  const int mode = std::fegetround();
  std::fesetround(FE_TONEAREST);
  EXPECT_EQ(mode, FE_UPWARD);
  EXPECT_EQ(out[0], 0x1.555556p-2f);
  EXPECT_EQ(by_row[0], 0x1.555556p-2f);
  std::fesetround(FE_DOWNWARD);
  out[0] = 3;
  for_each_index(context, 1, Third{out.data()});
  std::fesetround(FE_TONEAREST);
  EXPECT_EQ(out[0], 0x1.555556p-2f);
}

}  // namespace
}  // namespace millrace
