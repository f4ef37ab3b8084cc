#include <gtest/gtest.h>

#include "tests/layers/gradient_check.h"

namespace millrace::testing {
namespace {

LayerCase pool(Spec options, const Shape& image, int64_t batch = 3) {
  return {.kind = "avg_pool", .options = std::move(options), .inputs = {image}, .batch = batch};
}
Spec size(int value) { return Spec::map().set("size", value); }

TEST(AvgPool, TakesTheMeanOfEachWindow) {
  LayerRun run(pool(size(2), Shape{2, 2, 4}, 1));
  run.set_input(0, {1, 2, 3, 4, 5, 6, 7, 8, -1, -2, -3, -4, -5, -6, -7, -8});
  run.forward();
  EXPECT_EQ(run.output(), (std::vector<double>{3.5, 5.5, -3.5, -5.5}));
}

TEST(AvgPool, CountsTheImageAlone) {
  LayerRun run(pool(size(3).set("padding", "same").set("stride", 2), Shape{1, 2, 2}, 1));
  run.set_input(0, {1, 2, 3, 6});
  run.forward();
  EXPECT_EQ(run.output(), std::vector<double>{3});
}

TEST(AvgPool, ItsGradientsAreRight) {
  check_layer(pool(size(2), Shape{3, 6, 4}));
  check_layer(pool(size(3).set("stride", 2).set("padding", "same"), Shape{2, 7, 6}));
  check_layer(pool(size(2).set("stride", 1), Shape{1, 4, 5}));
  check_threads(pool(size(2), Shape{20, 24, 24}, 16));
}

}  // namespace
}  // namespace millrace::testing
