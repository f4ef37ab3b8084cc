#include <gtest/gtest.h>

#include "millrace/core/kernels/gemm_cpu.h"
#include "tests/core/kernels/gemm_check.h"

namespace millrace {
namespace {

using testing::check_around_tile_edges;
using testing::check_threads;

TEST(SgemmGemm, AgreesAroundEveryTileEdge) {
  Executor executor(2);
  Context context(Device::cpu(), executor);
  check_around_tile_edges(cpu::make_sgemm_gemm, context);
}

// Rows that are a multiple of 2 KiB apart, whose columns are read.
TEST(SgemmGemm, ReadsCopiesOfRowsThatShareSetsOfACache) {
  Executor executor(2);
  Context context(Device::cpu(), executor);
  const auto bytes_of = [&](const GemmSpec& spec, int64_t padding) {
    const testing::GemmData<float> data(spec, padding, 7);
    const auto gemm = cpu::make_sgemm_gemm(context, data.spec);
    for (int run = 0; run < 2; ++run) EXPECT_TRUE(data.holds(data.run(*gemm, context))) << testing::text_of(data.spec);
    return gemm->bytes();
  };
  constexpr size_t kRow = (512 + 16) * sizeof(float);
  EXPECT_EQ(bytes_of({.m = 512, .n = 512, .k = 40, .transpose_a = true, .beta = 1}, 0), 2 * 40 * kRow) << "both";
  EXPECT_EQ(bytes_of({.m = 500, .n = 40, .k = 70, .transpose_a = true}, 12), 70 * kRow) << "a";
  EXPECT_EQ(bytes_of({.m = 40, .n = 1024, .k = 70}, 0), 70 * (1024 + 16) * sizeof(float)) << "b";
  EXPECT_EQ(bytes_of({.m = 40, .n = 500, .k = 70}, 6), 70 * kRow) << "with gaps";
  EXPECT_EQ(bytes_of({.m = 40, .n = 512, .k = 70}, 8), 0U) << "as they are";
  EXPECT_EQ(bytes_of({.m = 31, .n = 512, .k = 70}, 0), 0U) << "not worth a copy";
  EXPECT_EQ(bytes_of({.m = 40, .n = 40, .k = 512, .transpose_b = true}, 0), 0U) << "no columns are read";
}

TEST(SgemmGemm, GivesTheSameBitsOnAnyNumberOfThreads) {
  for (const int64_t batch : {21, 23, 128, 256}) {
    check_threads<float>(cpu::make_sgemm_gemm, {.m = batch, .n = 1024, .k = 1024, .transpose_b = true, .bias = true});
    check_threads<float>(cpu::make_sgemm_gemm, {.m = 1024, .n = 1024, .k = batch, .transpose_a = true, .beta = 1});
    check_threads<float>(cpu::make_sgemm_gemm, {.m = batch, .n = 1024, .k = 1024});
  }
}

}  // namespace
}  // namespace millrace
