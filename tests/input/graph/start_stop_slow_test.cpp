#include <gtest/gtest.h>

#include "tests/input/graph/start_stop.h"

namespace millrace {
namespace {

TEST(StartStopSlow, AtRandomMoments) {
  testing_support::StartStop cycles(2);
  ASSERT_TRUE(cycles.run(10000));
  cycles.stopping().expect_soon("stopping");
}

}  // namespace
}  // namespace millrace
