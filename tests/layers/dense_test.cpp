#include <gtest/gtest.h>

#include <cmath>

#include "millrace/core/kernels/gemm.h"
#include "tests/layers/gradient_check.h"

namespace millrace::testing {
namespace {

Spec units(int count) { return Spec::map().set("units", count); }
Spec units(int count, const char* activation) { return units(count).set("activation", activation); }
Spec relu_units(int count) { return units(count, "relu"); }

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

// One that reads its output for backward, and one that keeps what it was computed from.
TEST(Dense, AppliesWhatTheProductDoesNot) {
  const std::vector<double> z = {-1.5, 1.5, -1.5, -5.5};
  for (const Mode mode : {Mode::train, Mode::predict}) {
    for (const DType dtype : {DType::f32, DType::f64}) {
      const double tolerance = dtype == DType::f32 ? 1e-6 : 1e-14;
      LayerRun tanh({.kind = "dense",
                     .options = units(2, "tanh"),
                     .inputs = {Shape{3}},
                     .batch = 2,
                     .dtype = dtype,
                     .mode = mode});
      give_small_values(tanh);
      tanh.forward();
      LayerRun gelu({.kind = "dense",
                     .options = units(2, "gelu"),
                     .inputs = {Shape{3}},
                     .batch = 2,
                     .dtype = dtype,
                     .mode = mode});
      give_small_values(gelu);
      gelu.forward();
      LayerRun sigmoid({.kind = "dense",
                        .options = units(2, "sigmoid"),
                        .inputs = {Shape{3}},
                        .batch = 2,
                        .dtype = dtype,
                        .mode = mode});
      give_small_values(sigmoid);
      sigmoid.forward();
      for (size_t i = 0; i < z.size(); ++i) {
        EXPECT_NEAR(tanh.output()[i], std::tanh(z[i]), tolerance);
        EXPECT_NEAR(sigmoid.output()[i], 1 / (1 + std::exp(-z[i])), tolerance);
        EXPECT_NEAR(gelu.output()[i], z[i] * std::erfc(-z[i] / std::sqrt(2.0)) / 2, tolerance);
      }
    }
  }
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
  for (const char* activation : {"tanh", "gelu", "sigmoid"}) {
    check_layer({.kind = "dense", .options = units(6, activation), .inputs = {Shape{4}}, .batch = 7});
    check_layer({.kind = "dense", .options = units(17, activation).set("bias", false), .inputs = {Shape{3}}});
  }
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
        for (const char* activation : {"relu", "tanh", "gelu", "sigmoid"}) {
          LayerRun run({.kind = "dense",
                        .options = units(out, activation),
                        .inputs = {Shape{20}},
                        .batch = batch,
                        .dtype = dtype});
          run.set_input(0, nans(batch * 20));
          run.forward();
          for (const double value : run.output()) ASSERT_TRUE(std::isnan(value)) << activation << ' ' << out;
        }
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

TEST(Dense, KeepsWhatTheGradientOfItsActivationReads) {
  const auto run = [](const char* activation, Mode mode) {
    return LayerRun({.kind = "dense", .options = units(2, activation), .inputs = {Shape{3}}, .batch = 5, .mode = mode});
  };
  for (const auto& [activation, output, saved] : {std::tuple{"none", false, 0U},
                                                  {"relu", true, 0U},
                                                  {"tanh", true, 0U},
                                                  {"gelu", false, 5 * 64U},
                                                  {"sigmoid", true, 0U}}) {
    EXPECT_EQ(run(activation, Mode::train).plan().backward_reads_output(), output) << activation;
    EXPECT_EQ(run(activation, Mode::train).plan().saved_bytes(), saved) << activation;
    EXPECT_EQ(run(activation, Mode::predict).plan().saved_bytes(), 0U) << activation;
    EXPECT_EQ(run(activation, Mode::predict).plan().scratch_bytes(), 0U) << activation;
  }
}

TEST(Dense, CountsTheBuffersOfItsProducts) {
  Executor executor(2);
  Context context(Device::cpu(), executor);
  for (const Mode mode : {Mode::train, Mode::predict}) {
    for (const int out : {1, 200}) {
      const LayerCase from{.kind = "dense",
                           .options = units(out),
                           .inputs = {Shape{64}},
                           .batch = 70,
                           .dtype = DType::f32,
                           .mode = mode};
      GemmSpec forward{.m = 70, .n = out, .k = 64, .transpose_b = true};
      GemmSpec input{.m = 70, .n = 64, .k = out}, weight{.m = out, .n = 64, .k = 70, .transpose_a = true};
      forward.ldc = input.lda = weight.lda = out == 1 ? 16 : 208;
      size_t expected = make_gemm(context, forward)->bytes();
      if (mode == Mode::train) expected += make_gemm(context, input)->bytes() + make_gemm(context, weight)->bytes();
      EXPECT_EQ(LayerRun(from).plan().bytes(), expected) << out;
      EXPECT_EQ(expected > 0, mode == Mode::train || out > 1) << out;
    }
  }
}

TEST(Dense, DeclaresWeightAndBias) {
  LayerRun run({.kind = "dense", .options = units(4), .inputs = {Shape{5}}, .dtype = DType::f32});
  ASSERT_EQ(run.parameter_count(), 2U);
  EXPECT_EQ(run.parameter_name(0), "weight");
  EXPECT_EQ(run.parameter(0).size(), 20U);
  EXPECT_EQ(run.initializer(0), glorot_uniform(5, 4));
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
            "activation: expected none, relu, tanh, gelu or sigmoid, got the text \"rellu\"; did you mean relu?");
  EXPECT_EQ(error_of(units(1).set("biass", true)), "unknown key biass; did you mean bias?");
}

TEST(Dense, TakesOneVectorARow) {
  EXPECT_EQ(error_of(units(2), {Shape{2, 3}}),
            "expected one vector per row, got float32 (2, 3); put a flatten before it");
  EXPECT_EQ(error_of(units(2), {Shape{2, 3, 1}}),
            "expected one vector per row, got float32 (2, 3, 1); put a flatten or a global_avg_pool before it");
  EXPECT_EQ(error_of(units(2), {Shape{}}), "expected one vector per row, got float32 ()");
}

}  // namespace
}  // namespace millrace::testing
