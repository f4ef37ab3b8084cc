// A steady step of a model allocates nothing of ours, whatever its layers keep and wherever its gradients go.
// tests/promises/allocation_test.cpp looks at whole trainings.
#include <gtest/gtest.h>

#include "tests/layers/follow_layer.h"
#include "tests/layers/model/training.h"
#include "tests/support/allocation_counter.h"

namespace millrace::testing {
namespace {

Spec rows_of_20() { return Spec::list().append(Spec::of(-1)).append(Spec::of(20)); }

TEST(SteadyStep, AllocatesNothing) {
  for (const bool in_place : {true, false}) {
    for (const int threads : {1, 3}) {
      Training training({.layers = {{.kind = "dense", .options = dense_units(200, "relu"), .name = "a"},
                                    {.kind = "dense", .options = dense_units(200, "gelu"), .name = "b"},
                                    {.kind = "add", .from = {"a", "b"}},
                                    {.kind = "follow"},
                                    {.kind = "relu"},
                                    {.kind = "scale"},
                                    {.kind = "leaky_relu"},
                                    {.kind = "dropout"},
                                    {.kind = "reshape", .options = Spec::map().set("shape", rows_of_20()), .name = "c"},
                                    {.kind = "softmax", .name = "d"},
                                    {.kind = "elu", .from = {"c"}, .name = "e"},
                                    {.kind = "mul", .from = {"c", "d", "e"}},
                                    {.kind = "concat", .options = Spec::map().set("axis", 1), .from = {"mul", "d"}},
                                    {.kind = "scale", .options = Spec::map().set("bias", false)},
                                    {.kind = "sigmoid"},
                                    {.kind = "flatten"},
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

TEST(SteadyStep, OfImagesAllocatesNothing) {
  const auto conv = [](int filters) {
    return Spec::map().set("filters", filters).set("kernel", 3).set("padding", "same");
  };
  const Spec image = Spec::list().append(Spec::of(2)).append(Spec::of(12)).append(Spec::of(12));
  for (const bool in_place : {true, false}) {
    for (const int threads : {1, 3}) {
      Training training({.layers = {{.kind = "reshape", .options = Spec::map().set("shape", image)},
                                    {.kind = "conv2d", .options = conv(8).set("activation", "relu"), .name = "a"},
                                    {.kind = "conv2d", .options = conv(8).set("activation", "gelu").set("groups", 4)},
                                    {.kind = "batch_norm"},
                                    {.kind = "add", .from = {"a", "batch_norm"}},
                                    {.kind = "group_norm", .options = Spec::map().set("groups", 2)},
                                    {.kind = "max_pool", .options = Spec::map().set("size", 2)},
                                    {.kind = "conv_transpose2d", .options = conv(4).set("stride", 2)},
                                    {.kind = "avg_pool", .options = Spec::map().set("size", 3).set("stride", 2)},
                                    {.kind = "dropout"},
                                    {.kind = "conv2d", .options = conv(6)},
                                    {.kind = "global_avg_pool"},
                                    {.kind = "layer_norm"},
                                    {.kind = "dense", .options = dense_units(1)}},
                         .row = Shape{288},
                         .batch = 37,
                         .in_place = in_place,
                         .threads = threads});
      training.step(draws("features", 37 * 288), filled(37, 1));
      start_counting();
      for (int i = 0; i < 5; ++i) training.run();
      EXPECT_EQ(stop_counting().own, 0) << (in_place ? "in place" : "apart") << ", threads " << threads;
    }
  }
}

}  // namespace
}  // namespace millrace::testing
