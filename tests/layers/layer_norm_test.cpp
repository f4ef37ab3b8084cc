#include <gtest/gtest.h>

#include "tests/layers/gradient_check.h"

namespace millrace::testing {
namespace {

LayerCase norm(const Shape& row, int64_t batch = 3) {
  return {.kind = "layer_norm", .options = Spec::map().set("epsilon", 1e-12), .inputs = {row}, .batch = batch};
}

TEST(LayerNorm, GivesEachRunMeanZeroAndDeviationOne) {
  LayerRun run(norm(Shape{2, 4}, 1));
  run.set_input(0, {1, 3, 1, 3, 10, 10, 30, 30});
  run.set_parameter(0, {1, 1, 2, 2});
  run.set_parameter(1, {0, 0, 5, 6});
  run.forward();
  expect_close(run.output(), {-1, 1, 3, 8, -1, -1, 7, 8}, 1e-10, "output");
}

TEST(LayerNorm, PredictsAsItTrains) {
  LayerCase from = norm(Shape{7});
  LayerRun trained(from);
  from.mode = Mode::predict;
  LayerRun predicted(from);
  for (LayerRun* run : {&trained, &predicted}) {
    prepare(*run);
    run->forward();
  }
  EXPECT_EQ(trained.output(), predicted.output());
}

TEST(LayerNorm, ItsGradientsAreRight) {
  check_layer(norm(Shape{5}));
  check_layer(norm(Shape{3, 4}));
  check_layer(norm(Shape{2, 3, 6}));
  check_threads(norm(Shape{40, 30}, 23));
}

TEST(LayerNorm, OfASingleValueHasNoGradientButItsBias) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    LayerCase from = norm(Shape{20, 1});
    from.dtype = dtype;
    LayerRun run(from);
    prepare(run);
    run.set_alpha(1, 0.3F);
    run.forward();
    run.backward();
    EXPECT_EQ(run.output(), filled(60, run.parameter(1)[0]));
    EXPECT_EQ(run.input_gradient(0), filled(60, 0));
    EXPECT_EQ(run.parameter_gradient(0), filled(1, 0));
  }
}

TEST(LayerNorm, WantsALastAxis) {
  EXPECT_EQ(error_of(norm(Shape{0})), "expected values along the last axis of a row, got float64 (0)");
}

}  // namespace
}  // namespace millrace::testing
