#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/layers/gradient_check.h"

namespace millrace::testing {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Spec alpha(double value) { return Spec::map().set("alpha", value); }

void expect_relative(double actual, double expected, double tolerance) {
  EXPECT_NEAR(actual, expected, tolerance * std::abs(expected));
}

TEST(Elu, ByHand) {
  LayerRun run({.kind = "elu", .inputs = {Shape{3}}, .batch = 2});
  run.set_input(0, {0, 2.5, -1, -40, kInfinity, -kInfinity});
  run.forward();
  EXPECT_EQ(run.output()[0], 0);
  EXPECT_EQ(run.output()[1], 2.5);
  EXPECT_NEAR(run.output()[2], -0.63212055882855768, 1e-15);
  EXPECT_EQ(run.output()[3], -1);
  EXPECT_EQ(run.output()[4], kInfinity);
  EXPECT_EQ(run.output()[5], -1);
}

TEST(Elu, ScalesNegativeValuesByAlpha) {
  LayerRun run({.kind = "elu", .options = alpha(0.5), .inputs = {Shape{3}}, .batch = 1});
  run.set_input(0, {-1, -kInfinity, 3});
  run.set_output_gradient({2, 2, 2});
  run.forward();
  run.backward();
  EXPECT_NEAR(run.output()[0], 0.5 * -0.63212055882855768, 1e-15);
  EXPECT_EQ(run.output()[1], -0.5);
  EXPECT_EQ(run.output()[2], 3);
  EXPECT_NEAR(run.input_gradient(0)[0], 2 * 0.5 * 0.36787944117144232, 1e-15);
  EXPECT_EQ(run.input_gradient(0)[1], 0);
  EXPECT_EQ(run.input_gradient(0)[2], 2);
}

// exp(x) - 1 alone would be -2^-24 or 0 there.
TEST(Elu, IsExactNextToZero) {
  for (const double x : {-1e-3, -1e-8, -1e-30}) {
    LayerRun single({.kind = "elu", .inputs = {Shape{1}}, .batch = 1, .dtype = DType::f32});
    single.set_input(0, {x});
    single.forward();
    expect_relative(single.output()[0], std::expm1(static_cast<double>(static_cast<float>(x))), 1e-6);
    LayerRun exact({.kind = "elu", .inputs = {Shape{1}}, .batch = 1});
    exact.set_input(0, {x});
    exact.forward();
    expect_relative(exact.output()[0], std::expm1(x), 1e-14);
  }
}

TEST(Elu, CutsBelowZeroWithoutAlpha) {
  LayerRun run({.kind = "elu", .options = alpha(0), .inputs = {Shape{3}}, .batch = 1});
  run.set_input(0, {-1, -kInfinity, 2});
  run.set_output_gradient({5, 6, 7});
  run.forward();
  run.backward();
  EXPECT_EQ(run.output(), (std::vector<double>{0, 0, 2}));
  EXPECT_EQ(run.input_gradient(0), (std::vector<double>{0, 0, 7}));
}

TEST(Elu, KeepsNaN) {
  LayerRun run({.kind = "elu", .inputs = {Shape{1}}, .batch = 1, .dtype = DType::f32});
  run.set_input(0, nans(1));
  run.forward();
  EXPECT_TRUE(std::isnan(run.output()[0]));
}

TEST(Elu, AgreesWithDifferences) {
  check_layer({.kind = "elu", .inputs = {Shape{7}}, .batch = 5});
  check_layer({.kind = "elu", .options = alpha(0.7), .inputs = {Shape{2, 3, 5}}, .batch = 3});
  check_float({.kind = "elu", .inputs = {Shape{701}}, .batch = 97});
}

TEST(Elu, KeepsOnlyItsOutputForBackward) {
  LayerRun run({.kind = "elu", .inputs = {Shape{1}}});
  EXPECT_FALSE(run.plan().backward_reads_inputs());
  EXPECT_TRUE(run.plan().backward_reads_output());
}

TEST(Elu, RejectsWrongAlphas) {
  const auto error_with = [](double value) {
    return error_of({.kind = "elu", .options = alpha(value), .inputs = {Shape{1}}});
  };
  EXPECT_EQ(error_with(-1), "alpha: expected at least 0 and at most 1000000, got -1");
  EXPECT_EQ(error_with(kInfinity), "alpha: expected at least 0 and at most 1000000, got .inf");
  EXPECT_EQ(error_with(2), "no error");
}

}  // namespace
}  // namespace millrace::testing
