#include "millrace/cli/verify/reference_run.h"

#include <gtest/gtest.h>

namespace millrace::cli {
namespace {

ReferenceRun example() {
  ReferenceRun run;
  run.add({.name = "start"}, 0.2);
  run.add({.name = "step", .step = 10, .said = "a"}, 1);
  run.add({.name = "step", .step = 20, .said = "b"}, 2);
  run.add({.name = "validation", .step = 20, .said = "v"}, 4);
  run.add({.name = "step", .step = 30, .said = "c"}, 5);
  run.add({.name = "validation", .step = 30, .said = "x"}, 5.25);
  run.add({.name = "validation", .step = 30, .said = "y"}, 5.5);
  run.end({.weights = "w", .steps = 33, .rows = 66}, 6);
  return run;
}

TEST(ReferenceRun, AgreesWithTheSameAtTheSameStep) {
  const ReferenceRun run = example();
  EXPECT_TRUE(run.agrees({.name = "step", .step = 20, .said = "b"}));
  EXPECT_FALSE(run.agrees({.name = "step", .step = 20, .said = "a"}));
  EXPECT_FALSE(run.agrees({.name = "step", .step = 15, .said = "a"}));
  EXPECT_FALSE(run.agrees({.name = "step", .step = 40, .said = "c"}));
  EXPECT_TRUE(run.agrees({.name = "validation", .step = 20, .said = "v"}));
  EXPECT_FALSE(run.agrees({.name = "validation", .step = 20, .said = "w"}));
  EXPECT_FALSE(run.agrees({.name = "validation", .step = 10, .said = "v"}));
  EXPECT_TRUE(run.agrees({.name = "validation", .step = 30, .said = "x"}));
  EXPECT_TRUE(run.agrees({.name = "validation", .step = 30, .said = "y"}));
  EXPECT_FALSE(run.agrees({.name = "validation", .step = 30, .said = "z"}));
  EXPECT_TRUE(run.agrees({.name = "resume", .step = 99}));
  EXPECT_TRUE(run.validated(20));
  EXPECT_FALSE(run.validated(10));
}

TEST(ReferenceRun, CountsFromTheFirstStep) {
  const ReferenceRun run = example();
  EXPECT_EQ(run.done().weights, "w");
  EXPECT_EQ(run.starting_seconds(), 1);
  EXPECT_EQ(run.training_seconds(), 5);
  EXPECT_EQ(run.seconds_to(0), 0);
  EXPECT_EQ(run.seconds_to(10), 0);
  EXPECT_EQ(run.seconds_to(25), 1);
  EXPECT_EQ(run.seconds_to(99), 4);
}

TEST(ReferenceRun, MayHaveNoStep) {
  ReferenceRun run;
  run.end({}, 0.5);
  EXPECT_EQ(run.starting_seconds(), 0.5);
  EXPECT_EQ(run.training_seconds(), 0);
  EXPECT_EQ(run.seconds_to(1), 0);
}

}  // namespace
}  // namespace millrace::cli
