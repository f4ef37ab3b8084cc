#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/layers/gradient_check.h"

namespace millrace::testing {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Spec slope(double value) { return Spec::map().set("slope", value); }

TEST(LeakyRelu, ScalesNegativeValues) {
  LayerRun run({.kind = "leaky_relu", .options = slope(0.25), .inputs = {Shape{3}}, .batch = 2, .dtype = DType::f32});
  run.set_input(0, {-4, 0, 3, -kInfinity, kInfinity, -0.5});
  run.forward();
  EXPECT_EQ(run.output(), (std::vector<double>{-1, 0, 3, -kInfinity, kInfinity, -0.125}));
}

TEST(LeakyRelu, HasASlopeOfAHundredthUnlessGiven) {
  LayerRun run({.kind = "leaky_relu", .inputs = {Shape{2}}, .batch = 1});
  run.set_input(0, {-1, 1});
  run.forward();
  EXPECT_EQ(run.output(), (std::vector<double>{-0.01, 1}));
}

TEST(LeakyRelu, ScalesTheGradientWhereTheInputIsNotPositive) {
  for (const double factor : {0.25, 0.0, 1.0}) {
    LayerRun run({.kind = "leaky_relu", .options = slope(factor), .inputs = {Shape{3}}, .batch = 1});
    run.set_input(0, {-1, 0, 2});
    run.set_output_gradient({4, 6, 7});
    run.forward();
    run.backward();
    EXPECT_EQ(run.input_gradient(0), (std::vector<double>{4 * factor, 6 * factor, 7}));
  }
}

TEST(LeakyRelu, KeepsNaN) {
  LayerRun run({.kind = "leaky_relu", .inputs = {Shape{1}}, .batch = 1, .dtype = DType::f32});
  run.set_input(0, nans(1));
  run.forward();
  EXPECT_TRUE(std::isnan(run.output()[0]));
}

TEST(LeakyRelu, AgreesWithDifferences) {
  check_layer({.kind = "leaky_relu", .inputs = {Shape{7}}, .batch = 5});
  check_layer({.kind = "leaky_relu", .options = slope(0.3), .inputs = {Shape{2, 3, 5}}, .batch = 3});
  check_float({.kind = "leaky_relu", .options = slope(0.3), .inputs = {Shape{701}}, .batch = 97});
}

TEST(LeakyRelu, KeepsOnlyItsOutputForBackward) {
  LayerRun run({.kind = "leaky_relu", .inputs = {Shape{1}}});
  EXPECT_FALSE(run.plan().backward_reads_inputs());
  EXPECT_TRUE(run.plan().backward_reads_output());
}

TEST(LeakyRelu, RejectsWrongSlopes) {
  const auto error_with = [](double value) {
    return error_of({.kind = "leaky_relu", .options = slope(value), .inputs = {Shape{1}}});
  };
  EXPECT_EQ(error_with(-0.5), "slope: expected at least 0 and at most 1, got -0.5");
  EXPECT_EQ(error_with(1.5), "slope: expected at least 0 and at most 1, got 1.5");
  EXPECT_EQ(error_with(nans(1)[0]), "slope: expected at least 0 and at most 1, got .nan");
  EXPECT_EQ(error_with(1), "no error");
  EXPECT_EQ(error_of({.kind = "leaky_relu", .options = Spec::map().set("alpha", 1), .inputs = {Shape{1}}}),
            "unknown key alpha; the keys here are slope");
}

}  // namespace
}  // namespace millrace::testing
