#include <gtest/gtest.h>

#include <cmath>

#include "tests/layers/gradient_check.h"
#include "tests/layers/model/training.h"

namespace millrace::testing {
namespace {

LayerCase concat(int axis, const std::vector<Shape>& inputs, int64_t batch) {
  return {.kind = "concat", .options = Spec::map().set("axis", axis), .inputs = inputs, .batch = batch};
}

TEST(Concat, JoinsVectors) {
  LayerRun run({.kind = "concat", .inputs = {Shape{2}, Shape{1}, Shape{3}}, .batch = 2, .dtype = DType::f32});
  run.set_input(0, {1, 2, 3, 4});
  run.set_input(1, {-1, -2});
  run.set_input(2, {10, 20, 30, 40, 50, 60});
  run.forward();
  EXPECT_EQ(run.output(), (std::vector<double>{1, 2, -1, 10, 20, 30, 3, 4, -2, 40, 50, 60}));
  EXPECT_EQ(run.output_spec(), (TensorSpec{Shape{2, 6}, DType::f32}));
}

TEST(Concat, JoinsAlongAnyAxis) {
  for (const int axis : {1, -1}) {
    LayerRun last(concat(axis, {Shape{2, 1}, Shape{2, 2}}, 2));
    last.set_input(0, {1, 2, 3, 4});
    last.set_input(1, {10, 20, 30, 40, 50, 60, 70, 80});
    last.forward();
    EXPECT_EQ(last.output(), (std::vector<double>{1, 10, 20, 2, 30, 40, 3, 50, 60, 4, 70, 80}));
    EXPECT_EQ(last.output_spec().shape, (Shape{2, 2, 3}));
  }
  for (const int axis : {0, -2}) {
    LayerRun first(concat(axis, {Shape{1, 2}, Shape{2, 2}}, 1));
    first.set_input(0, {1, 2});
    first.set_input(1, {10, 20, 30, 40});
    first.forward();
    EXPECT_EQ(first.output(), (std::vector<double>{1, 2, 10, 20, 30, 40}));
    EXPECT_EQ(first.output_spec().shape, (Shape{1, 3, 2}));
  }
  LayerRun middle(concat(1, {Shape{2, 1, 2}, Shape{2, 1, 2}}, 1));
  middle.set_input(0, {1, 2, 3, 4});
  middle.set_input(1, {10, 20, 30, 40});
  middle.forward();
  EXPECT_EQ(middle.output(), (std::vector<double>{1, 2, 10, 20, 3, 4, 30, 40}));
}

TEST(Concat, PartsTheGradient) {
  LayerRun run(concat(1, {Shape{2, 1}, Shape{2, 2}}, 1));
  run.set_input(0, {0, 0});
  run.set_input(1, {0, 0, 0, 0});
  run.set_output_gradient({1, 2, 3, 4, 5, 6});
  run.forward();
  run.backward();
  EXPECT_EQ(run.input_gradient(0), (std::vector<double>{1, 4}));
  EXPECT_EQ(run.input_gradient(1), (std::vector<double>{2, 3, 5, 6}));
}

TEST(Concat, AgreesWithDifferences) {
  check_layer(concat(0, {Shape{5}, Shape{3}}, 3));
  check_layer(concat(0, {Shape{2, 3}, Shape{1, 3}, Shape{4, 3}}, 2));
  check_layer(concat(1, {Shape{2, 3, 2}, Shape{2, 1, 2}}, 2));
  check_layer(concat(2, {Shape{2, 3, 5}, Shape{2, 3, 1}, Shape{2, 3, 2}}, 2));
  check_float(concat(1, {Shape{300, 7}, Shape{300, 4}}, 20));
  check_float(concat(0, {Shape{701}, Shape{17}}, 97));
}

TEST(Concat, TakesAValueTwice) {
  Training training({.layers = {{.kind = "scale", .name = "a"}, {.kind = "concat", .from = {"a", "a"}}},
                     .row = Shape{3},
                     .batch = 2,
                     .dtype = DType::f64,
                     .learning_rate = 1e-30,
                     .in_place = false});
  const std::vector<double> labels = {1, 0, 1, 0, 0, 1, 0, 1, 0, 1, 0, 1}, weight = {0.5, -1.5, 2};
  const auto set = [&](const std::vector<double>& values) { write_values(training.model().parameter(0), values); };
  const auto loss = [&] { return training.step(draws("features", 6), labels); };
  set(weight);
  loss();
  const std::vector<double> gradients = training.gradients();
  EXPECT_EQ(compare_with_differences("weight", weight, {gradients.begin(), gradients.begin() + 3}, set, loss), 0);
}

TEST(Concat, KeepsNothingForBackward) {
  LayerRun run(concat(0, {Shape{5}, Shape{5}}, 1));
  EXPECT_FALSE(run.plan().backward_reads_inputs());
  EXPECT_FALSE(run.plan().backward_reads_output());
}

TEST(Concat, LeavesUnneededGradientsAlone) {
  LayerCase from = concat(0, {Shape{2}, Shape{3}}, 1);
  from.input_use = GradientUse::none;
  LayerRun run(from);
  prepare(run);
  run.forward();
  run.backward();
  EXPECT_TRUE(std::isnan(run.input_gradient(0)[0]));
  EXPECT_TRUE(std::isnan(run.input_gradient(1)[0]));
}

TEST(Concat, RejectsWhatDoesNotFit) {
  EXPECT_EQ(error_of(concat(1, {Shape{5}, Shape{3}}, 1)), "expected rows with an axis 1, got float64 (5)");
  EXPECT_EQ(error_of(concat(-2, {Shape{5}, Shape{3}}, 1)), "expected rows with an axis -2, got float64 (5)");
  EXPECT_EQ(error_of(concat(0, {Shape{}, Shape{}}, 1)), "expected rows with an axis 0, got float64 ()");
  EXPECT_EQ(error_of(concat(0, {Shape{2, 3}, Shape{1, 3}, Shape{2, 4}}, 1)),
            "expected inputs that differ along axis 0 only, got float64 (2, 3) and float64 (2, 4)");
  EXPECT_EQ(error_of(concat(-1, {Shape{2, 3}, Shape{2}}, 1)),
            "expected inputs that differ along axis 1 only, got float64 (2, 3) and float64 (2)");
  EXPECT_EQ(error_of({.kind = "concat", .options = Spec::map().set("axis", "last"), .inputs = {Shape{1}, Shape{1}}}),
            "axis: expected an integer, got the text \"last\"");
}

TEST(Concat, TakesTwoOrMoreInputs) {
  const std::unique_ptr<Layer> layer = LayerCatalog::builtin().layers.make({"concat", Spec::map()}, Spec::map());
  EXPECT_EQ(layer->min_inputs(), 2);
  EXPECT_LT(layer->max_inputs(), 0);
}

}  // namespace
}  // namespace millrace::testing
