#include <gtest/gtest.h>

#include <cmath>

#include "tests/layers/gradient_check.h"

namespace millrace::testing {
namespace {

LayerCase norm(const Shape& row, int64_t batch, Spec options = Spec::map()) {
  return {.kind = "batch_norm", .options = std::move(options), .inputs = {row}, .batch = batch};
}

TEST(BatchNorm, GivesEachChannelMeanZeroAndDeviationOne) {
  LayerRun run(norm(Shape{2}, 4, Spec::map().set("epsilon", 1e-12)));
  run.set_input(0, {1, 10, 3, 10, 1, 30, 3, 30});
  run.set_parameter(0, {1, 2});
  run.set_parameter(1, {0, 5});
  run.forward();
  expect_close(run.output(), {-1, 3, 1, 3, -1, 7, 1, 7}, 1e-10, "output");
}

TEST(BatchNorm, OfImagesOverTheirPixels) {
  LayerRun run(norm(Shape{2, 1, 2}, 2, Spec::map().set("epsilon", 1e-12)));
  run.set_input(0, {1, 3, 10, 10, 1, 3, 30, 30});
  run.forward();
  expect_close(run.output(), {-1, 1, -1, -1, -1, 1, 1, 1}, 1e-10, "output");
}

TEST(BatchNorm, FollowsTheMomentsOfTheBatches) {
  LayerRun run(norm(Shape{1}, 4, Spec::map().set("momentum", 0.75)));
  run.set_input(0, {1, 2, 3, 6});
  run.set_state(0, {7});
  run.set_state(1, {2});
  run.forward();
  EXPECT_EQ(run.state(0), std::vector<double>{0.75 * 7 + 0.25 * 3});
  expect_close(run.state(1), {0.75 * 2 + 0.25 * 14.0 / 3}, 1e-12, "variance");
}

TEST(BatchNorm, PredictsWithWhatItFollowed) {
  LayerCase from = norm(Shape{2}, 1, Spec::map().set("epsilon", 1e-12));
  from.mode = Mode::predict;
  LayerRun run(from);
  run.set_state(0, {1, 10});
  run.set_state(1, {4, 25});
  run.set_parameter(0, {1, 2});
  run.set_parameter(1, {0, 1});
  run.set_input(0, {5, 0});
  run.forward();
  expect_close(run.output(), {2, -3}, 1e-10, "output");
  EXPECT_EQ(run.state(0), (std::vector<double>{1, 10}));
}

TEST(BatchNorm, OfOneRowIsItsBias) {
  LayerRun run(norm(Shape{2}, 1));
  prepare(run);
  run.set_parameter(1, {3, 4});
  run.forward();
  EXPECT_EQ(run.output(), (std::vector<double>{3, 4}));
  // It says nothing of the rows to come.
  EXPECT_EQ(run.state(0), (std::vector<double>{0, 0}));
  EXPECT_EQ(run.state(1), (std::vector<double>{1, 1}));
}

// Whatever the row holds, its outputs are the bias. Rounding must not make gradients of that.
TEST(BatchNorm, OfOneRowHasNoGradientButItsBias) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    for (const Shape& row : {Shape{50}, Shape{50, 1, 1}}) {
      LayerCase from = norm(row, 1);
      from.dtype = dtype;
      LayerRun run(from);
      prepare(run);
      run.set_alpha(1, 0.3F);
      run.forward();
      run.backward();
      EXPECT_EQ(run.input_gradient(0), filled(50, 0));
      EXPECT_EQ(run.parameter_gradient(0), filled(50, 0));
      EXPECT_EQ(run.parameter_gradient(1), draws("gradient", 50));
    }
  }
}

TEST(BatchNorm, ItsGradientsAreRight) {
  check_layer(norm(Shape{5}, 7));
  check_layer(norm(Shape{3, 4, 2}, 3));
  check_layer(norm(Shape{300}, 4));
}

TEST(BatchNorm, GivesTheSameBitsForEveryNumberOfThreads) {
  check_threads(norm(Shape{16, 12, 12}, 23));
  check_threads(norm(Shape{1000}, 64));
}

TEST(BatchNorm, WantsVectorsOrImages) {
  EXPECT_EQ(error_of(norm(Shape{3, 3}, 2)),
            "expected one vector per row, or an image (channels, height, width), got float64 (3, 3)");
}

}  // namespace
}  // namespace millrace::testing
