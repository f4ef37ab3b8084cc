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

}  // namespace
}  // namespace millrace
