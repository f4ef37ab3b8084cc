#include <gtest/gtest.h>

#include <cmath>

#include "tests/layers/gradient_check.h"

namespace millrace::testing {
namespace {

LayerCase scale(const Shape& row, int64_t batch, bool bias = true) {
  return {.kind = "scale", .options = Spec::map().set("bias", bias), .inputs = {row}, .batch = batch};
}

// x and dy (2, 2, 2), weight and bias (2).
void give_small_values(LayerRun& run) {
  run.set_input(0, {1, 2, 3, 4, 5, 6, 7, 8});
  run.set_parameter(0, {2, -1});
  run.set_parameter(1, {0.5, 10});
  run.set_output_gradient({1, 10, 2, 20, 3, 30, 4, 40});
}

TEST(Scale, BeginsAsTheIdentity) {
  LayerRun run({.kind = "scale", .inputs = {Shape{4, 3}}, .batch = 2, .dtype = DType::f32});
  ASSERT_EQ(run.parameter_count(), 2U);
  EXPECT_EQ(run.parameter_name(0), "weight");
  EXPECT_EQ(run.parameter(0), filled(3, 1));
  EXPECT_EQ(run.parameter_name(1), "bias");
  EXPECT_EQ(run.parameter(1), filled(3, 0));
  run.set_input(0, draws("x", 24));
  run.forward();
  EXPECT_EQ(run.output(), run.input(0));
}

TEST(Scale, ScalesAndShiftsAlongTheLastAxis) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    LayerCase from = scale({2, 2}, 2);
    from.dtype = dtype;
    LayerRun run(from);
    give_small_values(run);
    run.forward();
    EXPECT_EQ(run.output(), (std::vector<double>{2.5, 8, 6.5, 6, 10.5, 4, 14.5, 2}));
    EXPECT_EQ(run.output_spec().shape, (Shape{2, 2, 2}));
  }
}

TEST(Scale, ComputesItsGradients) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    LayerCase from = scale({2, 2}, 2);
    from.dtype = dtype;
    LayerRun run(from);
    give_small_values(run);
    run.forward();
    run.backward();
    EXPECT_EQ(run.input_gradient(0), (std::vector<double>{2, -10, 4, -20, 6, -30, 8, -40}));
    EXPECT_EQ(run.parameter_gradient(0), (std::vector<double>{1 + 6 + 15 + 28, 20 + 80 + 180 + 320}));
    EXPECT_EQ(run.parameter_gradient(1), (std::vector<double>{10, 100}));
  }
}

TEST(Scale, ComputesTheInputGradientBeforeItChangesTheWeight) {
  LayerCase from = scale({2, 2}, 2);
  from.parameter_use = GradientUse::add;
  LayerRun run(from);
  give_small_values(run);
  run.update_in_place();
  run.set_alpha(-0.5F, 1);
  run.forward();
  run.backward();
  EXPECT_EQ(run.input_gradient(0), (std::vector<double>{2, -10, 4, -20, 6, -30, 8, -40}));
  EXPECT_EQ(run.parameter(0), (std::vector<double>{2 - 25, -1 - 300}));
  EXPECT_EQ(run.parameter(1), (std::vector<double>{0.5 - 5, 10 - 50}));
}

TEST(Scale, WorksWithoutABias) {
  LayerRun run(scale({2}, 2, false));
  ASSERT_EQ(run.parameter_count(), 1U);
  run.set_input(0, {1, 2, 3, 4});
  run.set_parameter(0, {2, -1});
  run.forward();
  EXPECT_EQ(run.output(), (std::vector<double>{2, -2, 6, -4}));
  check_layer(scale({2}, 2, false));
}

TEST(Scale, AgreesWithDifferences) {
  check_layer(scale({5}, 3));
  check_layer(scale({1}, 7));
  check_layer(scale({4, 1}, 2));
  check_layer(scale({2, 3, 7}, 2, false));
  check_layer(scale({2, 3, 7}, 2));
}

// Sizes around the blocks of sums, over the rows and over the runs of one, and beyond one task.
TEST(Scale, AgreesInFloatAtManySizes) {
  for (const int64_t batch : {1, 64, 65, 130}) {
    for (const Shape& row : {Shape{17}, Shape{3, 5}, Shape{64, 3}, Shape{65, 16}}) check_float(scale(row, batch));
  }
  check_float(scale({701}, 97));
}

TEST(Scale, GivesTheSameBitsOnAnyNumberOfThreads) {
  check_threads(scale({701}, 97));
  check_threads(scale({65, 16}, 130));
}

TEST(Scale, LeavesUnneededGradientsAlone) {
  LayerCase from = scale({2, 2}, 2);
  from.input_use = GradientUse::none;
  LayerRun no_input(from);
  give_small_values(no_input);
  no_input.forward();
  no_input.backward();
  EXPECT_TRUE(std::isnan(no_input.input_gradient(0)[0]));
  EXPECT_EQ(no_input.parameter_gradient(1), (std::vector<double>{10, 100}));

  from.input_use = GradientUse::write;
  from.parameter_use = GradientUse::none;
  LayerRun no_parameters(from);
  give_small_values(no_parameters);
  no_parameters.forward();
  no_parameters.backward();
  EXPECT_EQ(no_parameters.input_gradient(0)[0], 2);
  EXPECT_TRUE(std::isnan(no_parameters.parameter_gradient(0)[0]));
  EXPECT_TRUE(std::isnan(no_parameters.parameter_gradient(1)[0]));
}

TEST(Scale, KeepsItsInputForBackwardAndNothingToPredict) {
  LayerCase from = scale({2, 2}, 2);
  EXPECT_TRUE(LayerRun(from).plan().backward_reads_inputs());
  EXPECT_FALSE(LayerRun(from).plan().backward_reads_output());
  from.mode = Mode::predict;
  EXPECT_EQ(LayerRun(from).plan().scratch_bytes(), 0U);
}

TEST(Scale, RejectsWhatItCannotScale) {
  EXPECT_EQ(error_of(scale(Shape{}, 1)), "expected values along the last axis of a row, got float64 ()");
  EXPECT_EQ(error_of(scale({3, 0}, 1)), "expected values along the last axis of a row, got float64 (3, 0)");
  EXPECT_EQ(error_of({.kind = "scale", .options = Spec::map().set("biass", true), .inputs = {Shape{1}}}),
            "unknown key biass; did you mean bias?");
}

}  // namespace
}  // namespace millrace::testing
