// On the CPU; what a GPU makes of it is in cuda/graph_test.cpp.
#include "millrace/core/replay.h"

#include <gtest/gtest.h>

#include "millrace/core/errors.h"

namespace millrace {
namespace {

TEST(Replay, RunsTheWorkEveryTimeOnTheCpu) {
  Executor executor(1);
  Context context(Device::cpu(), executor);
  Replay replay;
  int runs = 0;
  for (int i = 1; i <= 4; ++i) {
    replay.run(context, [&] { ++runs; });
    EXPECT_EQ(runs, i);
    EXPECT_FALSE(replay.recorded());
  }
}

TEST(Replay, ThrowsWhatTheWorkThrows) {
  Executor executor(1);
  Context context(Device::cpu(), executor);
  Replay replay;
  for (int i = 0; i < 3; ++i) {
    EXPECT_THROW(replay.run(context, [] { throw DeviceError("out of order"); }), DeviceError);
  }
}

}  // namespace
}  // namespace millrace
