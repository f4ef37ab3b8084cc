#include <gtest/gtest.h>

#include "tests/layers/gradient_check.h"

namespace millrace::testing {
namespace {

LayerCase norm(const Shape& row, int groups, int64_t batch = 3) {
  return {.kind = "group_norm",
          .options = Spec::map().set("groups", groups).set("epsilon", 1e-12),
          .inputs = {row},
          .batch = batch};
}

TEST(GroupNorm, GivesEachGroupMeanZeroAndDeviationOne) {
  LayerRun run(norm(Shape{4, 1, 2}, 2, 1));
  run.set_input(0, {1, 3, 1, 3, 10, 10, 30, 30});
  run.set_parameter(0, {1, 1, 2, 2});
  run.set_parameter(1, {0, 4, 5, 6});
  run.forward();
  expect_close(run.output(), {-1, 1, 3, 5, 3, 3, 8, 8}, 1e-10, "output");
}

TEST(GroupNorm, OfVectors) {
  LayerRun run(norm(Shape{4}, 2, 1));
  run.set_input(0, {1, 3, 30, 10});
  run.forward();
  expect_close(run.output(), {-1, 1, 1, -1}, 1e-10, "output");
}

TEST(GroupNorm, ItsGradientsAreRight) {
  check_layer(norm(Shape{6, 3, 2}, 3));
  check_layer(norm(Shape{4, 2, 2}, 4));
  check_layer(norm(Shape{6}, 2));
  check_layer(norm(Shape{4, 3, 3}, 1));
  check_threads(norm(Shape{16, 12, 12}, 4, 23));
}

TEST(GroupNorm, OfASingleValueHasNoGradientButItsBias) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    for (const Shape& row : {Shape{20}, Shape{20, 1, 1}}) {
      LayerCase from = norm(row, 20);
      from.dtype = dtype;
      LayerRun run(from);
      prepare(run);
      run.set_alpha(1, 0.3F);
      run.forward();
      run.backward();
      EXPECT_EQ(run.input_gradient(0), filled(60, 0));
      EXPECT_EQ(run.parameter_gradient(0), filled(20, 0));
    }
  }
}

TEST(GroupNorm, RefusesWhatDoesNotFit) {
  EXPECT_EQ(error_of(norm(Shape{5, 2, 2}, 2)), "2 groups cannot share 5 channels equally; use a divisor of 5");
  EXPECT_EQ(error_of(norm(Shape{4, 4}, 2)),
            "expected one vector per row, or an image (channels, height, width), got float64 (4, 4)");
}

}  // namespace
}  // namespace millrace::testing
