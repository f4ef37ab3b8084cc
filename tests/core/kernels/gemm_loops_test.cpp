#include <gtest/gtest.h>

#include "millrace/core/kernels/gemm_cpu.h"
#include "tests/core/kernels/gemm_check.h"

namespace millrace {
namespace {

using testing::check_all_forms;
using testing::check_threads;
using testing::GemmData;

TEST(LoopGemm, AgreesAroundItsBlockEdges) {
  Executor executor(2);
  Context context(Device::cpu(), executor);
  for (const int64_t m : {1, 2, 31, 32, 33}) {
    for (const int64_t n : {1, 3, 63, 64, 65, 129}) {
      for (const int64_t k : {1, 2, 31, 32, 33, 70}) {
        check_all_forms<double>(cpu::make_loop_gemm, m, n, k, context);
      }
    }
  }
}

TEST(LoopGemm, SumsOverKInOrder) {
  Executor executor(1);
  Context context(Device::cpu(), executor);
  const GemmData<double> data({.m = 5, .n = 70, .k = 100, .dtype = DType::f64}, 0, 3);
  const auto result = data.run(*cpu::make_loop_gemm(context, data.spec), context);
  for (size_t i = 0; i < 5; ++i) {
    for (size_t j = 0; j < 70; ++j) {
      double sum = 0;
      for (size_t l = 0; l < 100; ++l) sum += data.a[i * 100 + l] * data.b[l * 70 + j];
      ASSERT_EQ(result[i * 70 + j], sum);
    }
  }
}

TEST(LoopGemm, GivesTheSameBitsOnAnyNumberOfThreads) {
  check_threads<double>(cpu::make_loop_gemm, {.m = 100, .n = 130, .k = 70, .dtype = DType::f64, .beta = 1});
}

}  // namespace
}  // namespace millrace
