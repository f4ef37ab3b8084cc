#include "millrace/core/threads/float_mode.h"

#include <gtest/gtest.h>

#include "tests/support/host_mode.h"

namespace millrace {
namespace {

using test::HostMode;

// Divided by the processor, now.
double third() {
  volatile double one = 1, three = 3;
  volatile double result = one / three;
  return result;
}

TEST(FloatMode, RoundsToNearestAndGivesTheHostsModeBack) {
  const double nearest = third();
  for (const int rounding : HostMode::roundings()) {
    const HostMode host(rounding);
    {
      const FloatMode mode;
      EXPECT_EQ(std::fegetround(), FE_TONEAREST);
      EXPECT_EQ(third(), nearest);
    }
    EXPECT_EQ(std::fegetround(), rounding);
    EXPECT_EQ(third() == nearest, rounding != FE_UPWARD) << rounding;
  }
}

TEST(FloatMode, KeepsSubnormalNumbersAndGivesTheHostsModeBack) {
  if (!HostMode::can_flush()) GTEST_SKIP() << "this processor's mode for subnormal numbers is not known here";
  const HostMode host(FE_TONEAREST, true);
  {
    const FloatMode mode;
    EXPECT_TRUE(HostMode::keeps_subnormals());
  }
  EXPECT_FALSE(HostMode::keeps_subnormals());
}

TEST(FloatMode, LeavesTheHostsExceptionFlags) {
  std::feclearexcept(FE_ALL_EXCEPT);
  std::feraiseexcept(FE_OVERFLOW);
  {
    const FloatMode mode;
    EXPECT_NE(third(), 0);  // which is inexact
  }
  EXPECT_EQ(std::fetestexcept(FE_ALL_EXCEPT), FE_OVERFLOW);
  std::feclearexcept(FE_ALL_EXCEPT);
}

TEST(FloatMode, PutsBackWhatTheBlockChanges) {
  std::feclearexcept(FE_ALL_EXCEPT);
  {
    const FloatMode mode;
    std::fesetround(FE_UPWARD);
    EXPECT_NE(third(), 0);  // which is inexact
  }
  EXPECT_EQ(std::fegetround(), FE_TONEAREST);
  EXPECT_EQ(std::fetestexcept(FE_ALL_EXCEPT), 0);
}

TEST(FloatMode, Nests) {
  const HostMode host(FE_UPWARD);
  {
    const FloatMode outer;
    { const FloatMode inner; }
    EXPECT_EQ(std::fegetround(), FE_TONEAREST);
  }
  EXPECT_EQ(std::fegetround(), FE_UPWARD);
}

}  // namespace
}  // namespace millrace
