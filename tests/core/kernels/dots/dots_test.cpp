#include "millrace/core/kernels/dots/dots.h"

#include <gtest/gtest.h>

#include "tests/core/kernels/dots/dots_check.h"

namespace millrace::testing {
namespace {

float as_compiled(float x, float y, float sum) {
#if defined(__FP_FAST_FMAF)
  return std::fma(x, y, sum);
#else
  return x * y + sum;
#endif
}

TEST(Dots, PlainAddsInTheOrderOfTheHeader) { expect_dots_around_edges(cpu::dots_plain, as_compiled); }

TEST(Dots, TheBestFunctionOfThisProcessorIsChosen) {
  cpu::DotsFunction* expected = cpu::dots_plain;
#if defined(__x86_64__)
  if (cpu::has_dots_avx2()) expected = cpu::dots_avx2;
#endif
  EXPECT_EQ(cpu::dots_function(), expected);
}

// -0 stays -0 only in a lane that is not filled up, so the place of the last product matters.
TEST(Dots, UnderflowBelowZero) {
  const float x[] = {1e-30F}, y[] = {-1e-30F};
  float sum = 1;
  cpu::dots_function()({.a = x, .b = y, .c = &sum, .rows = 1, .columns = 1, .k = 1, .lda = 1, .ldb = 1, .ldc = 1});
  EXPECT_EQ(sum, 0);
  EXPECT_FALSE(std::signbit(sum));
}

}  // namespace
}  // namespace millrace::testing
