#include <gtest/gtest.h>

#include "tests/core/kernels/dots/dots_check.h"

namespace millrace::testing {
namespace {

TEST(Dots, Avx512AddsInTheOrderOfTheHeader) {
#if defined(__x86_64__)
  if (!cpu::has_dots_avx512()) GTEST_SKIP() << "the processor lacks AVX-512";
  expect_dots_around_edges(cpu::dots_avx512);
#else
  GTEST_SKIP() << "not an x86-64";
#endif
}

}  // namespace
}  // namespace millrace::testing
