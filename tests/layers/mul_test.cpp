#include <gtest/gtest.h>

#include <cmath>

#include "tests/layers/gradient_check.h"
#include "tests/layers/model/training.h"

namespace millrace::testing {
namespace {

LayerCase mul(const std::vector<Shape>& inputs, int64_t batch) {
  return {.kind = "mul", .inputs = inputs, .batch = batch};
}

TEST(Mul, MultipliesItsInputs) {
  LayerRun run({.kind = "mul", .inputs = {Shape{2}, Shape{2}, Shape{2}}, .batch = 2, .dtype = DType::f32});
  run.set_input(0, {1, 2, 3, -4});
  run.set_input(1, {10, 20, 30, 40});
  run.set_input(2, {0.5, 0, 3, 4});
  run.forward();
  EXPECT_EQ(run.output(), (std::vector<double>{5, 0, 270, -640}));
}

TEST(Mul, GivesEachOfTwoInputsTheOther) {
  LayerRun run(mul({Shape{2}, Shape{2}}, 1));
  run.set_input(0, {3, 0});
  run.set_input(1, {5, 7});
  run.set_output_gradient({2, -1});
  run.forward();
  run.backward();
  EXPECT_EQ(run.input_gradient(0), (std::vector<double>{10, -7}));
  EXPECT_EQ(run.input_gradient(1), (std::vector<double>{6, 0}));
}

TEST(Mul, HasGradientsAtZeros) {
  LayerRun run(mul({Shape{4}, Shape{4}, Shape{4}}, 1));
  run.set_input(0, {0, 2, 2, 0});
  run.set_input(1, {3, 0, 3, 0});
  run.set_input(2, {5, 5, 0, 5});
  run.set_output_gradient({1, 10, 100, 1000});
  run.forward();
  run.backward();
  EXPECT_EQ(run.input_gradient(0), (std::vector<double>{15, 0, 0, 0}));
  EXPECT_EQ(run.input_gradient(1), (std::vector<double>{0, 100, 0, 0}));
  EXPECT_EQ(run.input_gradient(2), (std::vector<double>{0, 0, 600, 0}));
}

TEST(Mul, AgreesWithDifferences) {
  check_layer(mul({Shape{5}, Shape{5}}, 3));
  check_layer(mul({Shape{2, 3}, Shape{2, 3}, Shape{2, 3}}, 2));
  check_layer(mul({Shape{3}, Shape{3}, Shape{3}, Shape{3}, Shape{3}}, 2));
  check_float(mul({Shape{701}, Shape{701}, Shape{701}}, 97));
}

TEST(Mul, SquaresAValueGivenTwice) {
  for (const std::vector<std::string>& from : {std::vector<std::string>{"a", "a"}, {"a", "a", "a"}}) {
    Training training({.layers = {{.kind = "scale", .name = "a"}, {.kind = "mul", .from = from}},
                       .row = Shape{3},
                       .batch = 2,
                       .dtype = DType::f64,
                       .learning_rate = 1e-30,
                       .in_place = false});
    const std::vector<double> labels = {1, 0, 1, 0, 1, 0}, weight = {0.5, -1.5, 2};
    const auto set = [&](const std::vector<double>& values) { write_values(training.model().parameter(0), values); };
    const auto loss = [&] { return training.step(draws("features", 6), labels); };
    set(weight);
    loss();
    const std::vector<double> gradients = training.gradients();
    EXPECT_EQ(compare_with_differences("weight", weight, {gradients.begin(), gradients.begin() + 3}, set, loss), 0);
  }
}

TEST(Mul, LeavesUnneededGradientsAlone) {
  LayerRun run({.kind = "mul", .inputs = {Shape{2}, Shape{2}}, .batch = 1, .input_use = GradientUse::none});
  prepare(run);
  run.forward();
  run.backward();
  EXPECT_TRUE(std::isnan(run.input_gradient(0)[0]));
  EXPECT_TRUE(std::isnan(run.input_gradient(1)[0]));
}

TEST(Mul, NeedsScratchForMoreThanTwoInputs) {
  EXPECT_EQ(LayerRun(mul({Shape{5}, Shape{5}}, 3)).plan().scratch_bytes(), 0U);
  LayerCase three = mul({Shape{5}, Shape{5}, Shape{5}}, 3);
  EXPECT_EQ(LayerRun(three).plan().scratch_bytes(), 3 * 64U);
  three.mode = Mode::predict;
  EXPECT_EQ(LayerRun(three).plan().scratch_bytes(), 0U);
  EXPECT_FALSE(LayerRun(three).plan().backward_reads_output());
}

TEST(Mul, RejectsInputsOfDifferentShapes) {
  EXPECT_EQ(error_of(mul({Shape{5}, Shape{5}, Shape{4, 1}}, 1)),
            "expected inputs of one shape, got float64 (5) and float64 (4, 1)");
}

TEST(Mul, TakesTwoOrMoreInputs) {
  const std::unique_ptr<Layer> layer = LayerCatalog::builtin().layers.make({"mul", Spec::map()}, Spec::map());
  EXPECT_EQ(layer->min_inputs(), 2);
  EXPECT_LT(layer->max_inputs(), 0);
}

}  // namespace
}  // namespace millrace::testing
