#include <gtest/gtest.h>

#include <cmath>

#include "tests/layers/gradient_check.h"

namespace millrace::testing {
namespace {

Spec units(int count) { return Spec::map().set("units", count); }
Spec relu_units(int count) { return units(count).set("activation", "relu"); }

// x (2, 3), weight (2, 3), y (2, 2).
void give_small_values(LayerRun& run) {
  run.set_input(0, {1, 2, 3, -1, 0, 1});
  run.set_parameter(0, {1, 0, -1, 2, 1, 0.5});
  run.set_parameter(1, {0.5, -4});
  run.set_output_gradient({1, 10, 100, 1000});
}

TEST(Dense, MultipliesByTheTransposedWeightAndAddsTheBias) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    LayerRun run({.kind = "dense", .options = units(2), .inputs = {Shape{3}}, .batch = 2, .dtype = dtype});
    give_small_values(run);
    run.forward();
    EXPECT_EQ(run.output(), (std::vector<double>{-1.5, 1.5, -1.5, -5.5}));
  }
}

TEST(Dense, CutsBelowZeroWithRelu) {
  LayerRun run({.kind = "dense", .options = relu_units(2), .inputs = {Shape{3}}, .batch = 2, .dtype = DType::f32});
  give_small_values(run);
  run.forward();
  EXPECT_EQ(run.output(), (std::vector<double>{0, 1.5, 0, 0}));
}

TEST(Dense, ComputesItsGradients) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    LayerRun run({.kind = "dense", .options = units(2), .inputs = {Shape{3}}, .batch = 2, .dtype = dtype});
    give_small_values(run);
    run.forward();
    run.backward();
    EXPECT_EQ(run.input_gradient(0), (std::vector<double>{21, 10, 4, 2100, 1000, 400}));
    EXPECT_EQ(run.parameter_gradient(0), (std::vector<double>{-99, 2, 103, -990, 20, 1030}));
    EXPECT_EQ(run.parameter_gradient(1), (std::vector<double>{101, 1010}));
  }
}

TEST(Dense, MasksTheGradientWhereReluCut) {
  LayerRun run({.kind = "dense", .options = relu_units(2), .inputs = {Shape{3}}, .batch = 2, .dtype = DType::f32});
  give_small_values(run);
  run.forward();
  run.backward();
  EXPECT_EQ(run.input_gradient(0), (std::vector<double>{20, 10, 5, 0, 0, 0}));
  EXPECT_EQ(run.parameter_gradient(0), (std::vector<double>{0, 0, 0, 10, 20, 30}));
  EXPECT_EQ(run.parameter_gradient(1), (std::vector<double>{0, 10}));
}

TEST(Dense, WorksWithoutABias) {
  const LayerCase without{.kind = "dense", .options = units(2).set("bias", false), .inputs = {Shape{3}}, .batch = 2};
  LayerRun run(without);
  ASSERT_EQ(run.parameter_count(), 1U);
  run.set_input(0, {1, 2, 3, -1, 0, 1});
  run.set_parameter(0, {1, 0, -1, 2, 1, 0.5});
  run.forward();
  EXPECT_EQ(run.output(), (std::vector<double>{-2, 5.5, -2, -1.5}));
  check_layer(without);
}

TEST(Dense, ComputesTheInputGradientBeforeItChangesTheWeight) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    LayerRun run({.kind = "dense",
                  .options = units(2),
                  .inputs = {Shape{3}},
                  .batch = 2,
                  .dtype = dtype,
                  .parameter_use = GradientUse::add});
    give_small_values(run);
    run.update_in_place();
    run.set_alpha(-0.5F, 1);
    run.forward();
    run.backward();
    EXPECT_EQ(run.input_gradient(0), (std::vector<double>{21, 10, 4, 2100, 1000, 400}));
    EXPECT_EQ(run.parameter(0), (std::vector<double>{50.5, -1, -52.5, 497, -9, -514.5}));
    EXPECT_EQ(run.parameter(1), (std::vector<double>{-50, -509}));
  }
}

TEST(Dense, AgreesWithDifferences) {
  check_layer({.kind = "dense", .options = units(4), .inputs = {Shape{5}}, .batch = 3});
  check_layer({.kind = "dense", .options = relu_units(6), .inputs = {Shape{4}}, .batch = 7});
  check_layer({.kind = "dense", .options = units(1), .inputs = {Shape{9}}, .batch = 2});
  check_layer({.kind = "dense", .options = relu_units(3), .inputs = {Shape{1}}, .batch = 1});
}

// Sizes around the edges of tiles, blocks of sums and padded rows.
TEST(Dense, AgreesInFloatAtManySizes) {
  for (const int64_t batch : {1, 23, 64, 65}) {
    for (const int out : {1, 16, 17}) {
      for (const int64_t in : {1, 31, 64}) {
        check_float({.kind = "dense", .options = relu_units(out), .inputs = {Shape{in}}, .batch = batch}, 2e-5);
        check_float({.kind = "dense", .options = units(out), .inputs = {Shape{in}}, .batch = batch}, 2e-5);
      }
    }
  }
}

// A diverging model shows also behind a fused rectifier: each kernel of each size keeps NaN.
TEST(Dense, KeepsNaN) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    for (const int64_t batch : {1, 70}) {
      for (const int out : {1, 70}) {
        LayerRun run(
            {.kind = "dense", .options = relu_units(out), .inputs = {Shape{20}}, .batch = batch, .dtype = dtype});
        run.set_input(0, nans(batch * 20));
        run.forward();
        for (const double value : run.output()) ASSERT_TRUE(std::isnan(value)) << batch << " x " << out;
      }
    }
  }
}

TEST(Dense, LeavesUnneededGradientsAlone) {
  LayerRun run(
      {.kind = "dense", .options = relu_units(2), .inputs = {Shape{3}}, .batch = 2, .input_use = GradientUse::none});
  give_small_values(run);
  run.forward();
  run.backward();
  EXPECT_TRUE(std::isnan(run.input_gradient(0)[0]));
  EXPECT_EQ(run.parameter_gradient(1), (std::vector<double>{0, 10}));
}

TEST(Dense, KeepsItsOutputOnlyForAnActivation) {
  LayerRun plain({.kind = "dense", .options = units(2), .inputs = {Shape{3}}});
  EXPECT_FALSE(plain.plan().backward_reads_output());
  LayerRun fused({.kind = "dense", .options = relu_units(2), .inputs = {Shape{3}}});
  EXPECT_TRUE(fused.plan().backward_reads_output());
  LayerRun predict({.kind = "dense", .options = relu_units(2), .inputs = {Shape{3}}, .mode = Mode::predict});
  EXPECT_EQ(predict.plan().scratch_bytes(), 0U);
}

TEST(Dense, DeclaresWeightAndBias) {
  LayerRun run({.kind = "dense", .options = units(4), .inputs = {Shape{5}}, .dtype = DType::f32});
  ASSERT_EQ(run.parameter_count(), 2U);
  EXPECT_EQ(run.parameter_name(0), "weight");
  EXPECT_EQ(run.parameter(0).size(), 20U);
  EXPECT_EQ(run.initializer(0).kind, Initializer::Kind::glorot_uniform);
  EXPECT_EQ(run.initializer(0).fan_in, 5);
  EXPECT_EQ(run.initializer(0).fan_out, 4);
  EXPECT_EQ(run.parameter_name(1), "bias");
  EXPECT_EQ(run.parameter(1), filled(4, 0));
}

std::string error_of(const Spec& options, const std::vector<Shape>& inputs = {Shape{3}}) {
  try {
    LayerRun run({.kind = "dense", .options = options, .inputs = inputs, .dtype = DType::f32});
  } catch (const ConfigError& error) {
    return cat(error.message(), error.hint().empty() ? "" : "; ", error.hint());
  }
  return "no error";
}

TEST(Dense, RejectsWrongOptions) {
  EXPECT_EQ(error_of(Spec::map()), "the key units is required (integer); units: values of the output");
  EXPECT_EQ(error_of(units(0)), "units: expected at least 1 and at most 1073741824, got 0");
  EXPECT_EQ(error_of(units(1).set("activation", "rellu")),
            "activation: expected none or relu, got the text \"rellu\"; did you mean relu?");
  EXPECT_EQ(error_of(units(1).set("biass", true)), "unknown key biass; did you mean bias?");
}

TEST(Dense, TakesOneVectorARow) {
  EXPECT_EQ(error_of(units(2), {Shape{2, 3}}), "expected a vector a row, got float32 (2, 3)");
  EXPECT_EQ(error_of(units(2), {Shape{}}), "expected a vector a row, got float32 ()");
}

}  // namespace
}  // namespace millrace::testing
