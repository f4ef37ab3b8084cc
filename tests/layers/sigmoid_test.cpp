#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/layers/gradient_check.h"

namespace millrace::testing {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(Sigmoid, ByHand) {
  LayerRun run({.kind = "sigmoid", .inputs = {Shape{3}}, .batch = 1});
  run.set_input(0, {0, std::log(3.0), -std::log(3.0)});
  run.set_output_gradient({1, 16, -16});
  run.forward();
  run.backward();
  EXPECT_EQ(run.output()[0], 0.5);
  EXPECT_NEAR(run.output()[1], 0.75, 1e-15);
  EXPECT_NEAR(run.output()[2], 0.25, 1e-15);
  EXPECT_EQ(run.input_gradient(0)[0], 0.25);
  EXPECT_NEAR(run.input_gradient(0)[1], 3, 1e-14);
  EXPECT_NEAR(run.input_gradient(0)[2], -3, 1e-14);
}

TEST(Sigmoid, NeverOverflows) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    LayerRun run({.kind = "sigmoid", .inputs = {Shape{3}}, .batch = 2, .dtype = dtype});
    run.set_input(0, {1000, -1000, kInfinity, -kInfinity, -80, 80});
    run.set_output_gradient(filled(6, 1));
    run.forward();
    run.backward();
    const std::vector<double> y = run.output();
    EXPECT_EQ((std::vector<double>{y[0], y[1], y[2], y[3], y[5]}), (std::vector<double>{1, 0, 1, 0, 1}));
    EXPECT_NEAR(y[4] / std::exp(-80.0), 1, 1e-6);
    for (const size_t i : {0, 1, 2, 3, 5}) EXPECT_EQ(run.input_gradient(0)[i], 0) << i;
  }
}

TEST(Sigmoid, KeepsNaN) {
  LayerRun run({.kind = "sigmoid", .inputs = {Shape{1}}, .batch = 1, .dtype = DType::f32});
  run.set_input(0, nans(1));
  run.forward();
  EXPECT_TRUE(std::isnan(run.output()[0]));
}

TEST(Sigmoid, AgreesWithDifferences) {
  check_layer({.kind = "sigmoid", .inputs = {Shape{7}}, .batch = 5});
  check_layer({.kind = "sigmoid", .inputs = {Shape{2, 3, 5}}, .batch = 3});
  check_float({.kind = "sigmoid", .inputs = {Shape{701}}, .batch = 97});
}

TEST(Sigmoid, KeepsOnlyItsOutputForBackward) {
  LayerRun run({.kind = "sigmoid", .inputs = {Shape{1}}});
  EXPECT_FALSE(run.plan().backward_reads_inputs());
  EXPECT_TRUE(run.plan().backward_reads_output());
}

TEST(Sigmoid, HasNoOptions) {
  EXPECT_EQ(error_of({.kind = "sigmoid", .options = Spec::map().set("slope", 1), .inputs = {Shape{1}}}),
            "unknown key slope; there are no options here");
}

}  // namespace
}  // namespace millrace::testing
