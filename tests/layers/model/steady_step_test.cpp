// A steady step of a model allocates nothing of ours, whatever its layers keep and wherever its gradients go.
// tests/promises/allocation_test.cpp looks at whole trainings.
#include <gtest/gtest.h>

#include "tests/layers/follow_layer.h"
#include "tests/layers/model/training.h"
#include "tests/support/allocation_counter.h"

namespace millrace::testing {
namespace {

TEST(SteadyStep, AllocatesNothing) {
  for (const bool in_place : {true, false}) {
    for (const int threads : {1, 3}) {
      Training training({.layers = {{.kind = "dense", .options = dense_units(200, "relu"), .name = "a"},
                                    {.kind = "dense", .options = dense_units(200, "gelu"), .name = "b"},
                                    {.kind = "add", .from = {"a", "b"}},
                                    {.kind = "follow"},
                                    {.kind = "relu"},
                                    {.kind = "dense", .options = dense_units(1)}},
                         .row = Shape{300},
                         .batch = 90,
                         .in_place = in_place,
                         .threads = threads,
                         .catalog = with_follow()});
      training.step(draws("features", 90 * 300), filled(90, 1));
      start_counting();
      for (int i = 0; i < 5; ++i) training.run();
      EXPECT_EQ(stop_counting().own, 0) << (in_place ? "in place" : "apart") << ", threads " << threads;
    }
  }
}

}  // namespace
}  // namespace millrace::testing
