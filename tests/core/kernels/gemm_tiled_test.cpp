#include <gtest/gtest.h>

#include "millrace/core/kernels/gemm_cpu.h"
#include "tests/core/kernels/gemm_check.h"

namespace millrace {
namespace {

using testing::check_all_forms;
using testing::check_threads;

constexpr int64_t kEdges[] = {1, 2, 3, 15, 16, 17, 63, 64, 65, 127, 128, 129, 255, 256, 257};

// Every pair of edges meets in some product; the third size is drawn.
TEST(TiledGemm, AgreesAroundEveryTileEdge) {
  Executor executor(2);
  Context context(Device::cpu(), executor);
  const auto draw = [](uint64_t stream, int64_t i, int64_t j) {
    return kEdges[scale_to(philox64(9, stream, static_cast<uint64_t>(i * 1000 + j)), std::size(kEdges))];
  };
  for (const int64_t i : kEdges) {
    for (const int64_t j : kEdges) {
      check_all_forms<float>(cpu::make_tiled_gemm, i, j, draw(0, i, j), context);
      if (HasFatalFailure()) return;
    }
  }
  for (const int64_t i : kEdges) {
    for (const int64_t j : {1, 17, 64, 257}) {
      check_all_forms<float>(cpu::make_tiled_gemm, draw(1, i, j), j, i, context);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(TiledGemm, GivesTheSameBitsOnAnyNumberOfThreads) {
  for (const int64_t batch : {21, 23, 128, 256}) {
    check_threads<float>(cpu::make_tiled_gemm, {.m = batch, .n = 1024, .k = 1024, .transpose_b = true, .bias = true});
    check_threads<float>(cpu::make_tiled_gemm, {.m = 1024, .n = 1024, .k = batch, .transpose_a = true, .beta = 1});
    check_threads<float>(cpu::make_tiled_gemm, {.m = batch, .n = 1024, .k = 1024});
  }
}

}  // namespace
}  // namespace millrace
