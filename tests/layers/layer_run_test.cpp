// The tools of the layers' tests, on a layer with state and saved values.
#include "tests/layers/layer_run.h"

#include <gtest/gtest.h>

#include "tests/layers/follow_layer.h"
#include "tests/layers/gradient_check.h"
#include "tests/layers/lookup_layer.h"

namespace millrace::testing {
namespace {

TEST(LayerRun, BeginsEveryForwardPassWithTheSameState) {
  LayerRun run({.kind = "follow", .inputs = {Shape{1}}, .batch = 2}, with_follow());
  run.set_input(0, {2, 5});
  for (int i = 0; i < 2; ++i) {
    run.forward();
    EXPECT_EQ(run.state(0), (std::vector<double>{2}));
    EXPECT_EQ(run.output(), (std::vector<double>{0, 6}));
  }
  run.set_state(0, {-1.5});
  run.forward();
  EXPECT_EQ(run.state(0), (std::vector<double>{1}));
  EXPECT_EQ(run.output(), (std::vector<double>{1, 4}));
}

TEST(LayerRun, ChangesNoStateToPredict) {
  LayerRun run({.kind = "follow", .inputs = {Shape{1}}, .batch = 2, .mode = Mode::predict}, with_follow());
  run.set_input(0, {2, 5});
  run.forward();
  EXPECT_EQ(run.state(0), (std::vector<double>{0.5}));
  EXPECT_EQ(run.output(), (std::vector<double>{0.75, 2.25}));
}

TEST(LayerRun, ChecksALayerWithState) {
  check_layer({.kind = "follow", .inputs = {Shape{17}}, .batch = 4}, with_follow());
  check_layer({.kind = "follow", .inputs = {Shape{3, 5}}, .batch = 2}, with_follow());
}

// Whole numbers have no gradient, so LayerRun asks for none.
TEST(LayerRun, GivesALayerWholeNumbers) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    LayerRun run({.kind = "lookup", .inputs = {Shape{2}}, .batch = 3, .dtype = dtype}, with_lookup());
    run.set_input(0, {0, 3, 1, 1, 3, 0});
    run.set_parameter(0, {1, 2, 10, 20, 100, 200, 1000, 2000});
    run.set_output_gradient({1, 2, 3, 4, 5, 6});
    run.forward();
    run.backward();
    EXPECT_EQ(run.output(), (std::vector<double>{1001, 2002, 20, 40, 1001, 2002}));
    EXPECT_EQ(run.parameter_gradient(0), (std::vector<double>{6, 8, 6, 8, 0, 0, 6, 8}));
  }
}

}  // namespace
}  // namespace millrace::testing
