#include <gtest/gtest.h>

#include "millrace/core/kernels/gemm_cpu.h"
#include "tests/core/kernels/gemm_check.h"

namespace millrace {
namespace {

using testing::check_all_forms;
using testing::check_threads;

constexpr int64_t kEdges[] = {1, 2, 3, 15, 16, 17, 31, 32, 33, 63, 64, 65, 255, 256, 257, 600};

TEST(NarrowGemm, AgreesWhereOneSizeIsOne) {
  Executor executor(2);
  Context context(Device::cpu(), executor);
  for (const int64_t i : kEdges) {
    for (const int64_t j : kEdges) {
      check_all_forms<float>(cpu::make_narrow_gemm, i, 1, j, context);
      check_all_forms<float>(cpu::make_narrow_gemm, 1, i, j, context);
      check_all_forms<float>(cpu::make_narrow_gemm, i, j, 1, context);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(NarrowGemm, GivesTheSameBitsOnAnyNumberOfThreads) {
  for (const int64_t batch : {23, 256}) {
    check_threads<float>(cpu::make_narrow_gemm, {.m = batch, .n = 1, .k = 1024, .transpose_b = true, .bias = true});
    check_threads<float>(cpu::make_narrow_gemm, {.m = 1, .n = 1024, .k = batch, .transpose_a = true, .beta = 1});
    check_threads<float>(cpu::make_narrow_gemm, {.m = 1024, .n = 1, .k = batch, .transpose_a = true});
    check_threads<float>(cpu::make_narrow_gemm, {.m = batch, .n = 1024, .k = 1});
  }
}

TEST(NarrowGemm, SaysWhatItHolds) {
  Executor executor(1);
  Context context(Device::cpu(), executor);
  const auto bytes = [&](const GemmSpec& spec) { return cpu::make_narrow_gemm(context, spec)->bytes(); };
  EXPECT_EQ(bytes({.m = 5, .n = 1, .k = 70, .lda = 70, .ldb = 1, .ldc = 1}), 0U);
  EXPECT_EQ(bytes({.m = 5, .n = 1, .k = 70, .lda = 70, .ldb = 16, .ldc = 1}), 70 * sizeof(float));
  EXPECT_EQ(bytes({.m = 5, .n = 9, .k = 1, .transpose_b = true, .lda = 1, .ldb = 16, .ldc = 9}), 9 * sizeof(float));
}

}  // namespace
}  // namespace millrace
