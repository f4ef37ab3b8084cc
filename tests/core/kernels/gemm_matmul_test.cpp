#include <gtest/gtest.h>

#include "millrace/core/kernels/gemm_cpu.h"
#include "tests/core/kernels/gemm_check.h"

namespace millrace {
namespace {

using testing::check_around_tile_edges;
using testing::check_threads;

TEST(MatmulGemm, AgreesAroundEveryTileEdge) {
  Executor executor(2);
  Context context(Device::cpu(), executor);
  check_around_tile_edges(cpu::make_matmul_gemm, context);
}

TEST(MatmulGemm, GivesTheSameBitsOnAnyNumberOfThreads) {
  for (const int64_t batch : {21, 23, 128, 256}) {
    check_threads<float>(cpu::make_matmul_gemm, {.m = batch, .n = 1024, .k = 1024, .transpose_b = true, .bias = true});
    check_threads<float>(cpu::make_matmul_gemm, {.m = 1024, .n = 1024, .k = batch, .transpose_a = true, .beta = 1});
    check_threads<float>(cpu::make_matmul_gemm, {.m = batch, .n = 1024, .k = 1024});
  }
}

// Held: for each tile that may be made at once its sums, and what oneDNN asks for.
TEST(MatmulGemm, SaysWhatItHoldsAtMost) {
  Executor one(1), many(8);
  Context alone(Device::cpu(), one), shared(Device::cpu(), many);
  const auto bytes = [](Context& context, int64_t m) {
    return cpu::make_matmul_gemm(context, {.m = m, .n = 1024, .k = 64, .transpose_b = true})->bytes();
  };
  EXPECT_GE(bytes(alone, 256), 256U * 128 * sizeof(float));
  EXPECT_EQ(bytes(shared, 256), 8 * bytes(alone, 256));
  // 257 rows are cut into tiles of 136, 256 are one tile: the larger product must not promise less.
  size_t before = 0;
  for (const int64_t m : {2, 9, 100, 255, 256, 257, 300, 600}) {
    const size_t now = bytes(shared, m);
    EXPECT_GE(now, before) << m;
    before = now;
  }
}

}  // namespace
}  // namespace millrace
