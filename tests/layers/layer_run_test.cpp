// The tools of the layers' tests, on a layer with state and saved values.
#include "tests/layers/layer_run.h"

#include <gtest/gtest.h>

#include "tests/layers/follow_layer.h"
#include "tests/layers/gradient_check.h"

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

}  // namespace
}  // namespace millrace::testing
