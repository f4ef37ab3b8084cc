#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>

#include "tests/layers/gradient_check.h"

namespace millrace::testing {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

LayerCase softmax(const Shape& row, int64_t batch) { return {.kind = "softmax", .inputs = {row}, .batch = batch}; }

std::vector<double> softmax_of(const std::vector<double>& values, DType dtype) {
  LayerCase from = softmax(Shape{static_cast<int64_t>(values.size())}, 1);
  from.dtype = dtype;
  LayerRun run(from);
  run.set_input(0, values);
  run.forward();
  return run.output();
}

void expect_near(const std::vector<double>& actual, const std::vector<double>& expected, double tolerance) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(actual[i], expected[i], tolerance) << i;
}

TEST(Softmax, ByHand) {
  expect_near(softmax_of({0, std::log(2.0), std::log(5.0)}, DType::f64), {0.125, 0.25, 0.625}, 1e-15);
  EXPECT_EQ(softmax_of({3, 3, 3, 3}, DType::f32), filled(4, 0.25));
  EXPECT_EQ(softmax_of({-7}, DType::f32), filled(1, 1));
}

TEST(Softmax, RunsAlongTheLastAxis) {
  LayerRun run(softmax({2, 3}, 2));
  const double two = std::log(2.0);
  run.set_input(0, {0, two, 0, two, two, 0, 5, 5, 5, 0, -kInfinity, 0});
  run.forward();
  constexpr double third = 1.0 / 3;
  expect_near(run.output(), {0.25, 0.5, 0.25, 0.4, 0.4, 0.2, third, third, third, 0.5, 0, 0.5}, 1e-15);
  EXPECT_EQ(run.output_spec(), (TensorSpec{Shape{2, 2, 3}, DType::f64}));
}

TEST(Softmax, ComputesItsGradient) {
  LayerRun run(softmax({2, 2}, 1));
  run.set_input(0, {4, 4, 0, std::log(3.0)});
  run.set_output_gradient({1, 3, 4, -4});
  run.forward();
  run.backward();
  expect_near(run.input_gradient(0), {-0.5, 0.5, 1.5, -1.5}, 1e-15);
}

TEST(Softmax, NeverOverflows) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    const double e = std::exp(-1.0);
    for (const double offset : {1e4, -1e4}) {
      expect_near(softmax_of({offset, offset - 1, offset - 1e5}, dtype), {1 / (1 + e), e / (1 + e), 0}, 1e-7);
    }
    EXPECT_EQ(softmax_of({1e30, -1e30}, dtype), (std::vector<double>{1, 0}));
    EXPECT_EQ(softmax_of({-kInfinity, 3, -kInfinity}, dtype), (std::vector<double>{0, 1, 0}));
  }
}

// What has no softmax shows in all of its run, and in no other.
TEST(Softmax, KeepsNaN) {
  const double nan = nans(1)[0];
  for (const std::vector<double>& run_values : std::vector<std::vector<double>>{
           {nan, 0, 0}, {0, nan, 0}, {0, 0, nan}, {0, kInfinity, 0}, {-kInfinity, -kInfinity, -kInfinity}}) {
    LayerRun run(softmax({3, 3}, 1));
    std::vector<double> values = filled(9, 1);
    std::copy(run_values.begin(), run_values.end(), values.begin() + 3);
    run.set_input(0, values);
    run.forward();
    for (size_t i = 0; i < 9; ++i) EXPECT_EQ(std::isnan(run.output()[i]), i / 3 == 1) << i;
  }
}

TEST(Softmax, AddsUpToOne) {
  const std::vector<double> shares = softmax_of(draws("values", 30011, -2, 2), DType::f32);
  EXPECT_NEAR(std::accumulate(shares.begin(), shares.end(), 0.0), 1, 1e-7);
}

TEST(Softmax, AgreesWithDifferences) {
  check_layer(softmax({5}, 3));
  check_layer(softmax({1}, 4));
  check_layer(softmax({2, 3}, 1));
  check_layer(softmax({2, 3, 17}, 2));
  check_float(softmax({701}, 97));
  check_float(softmax({40, 3}, 300));
  check_float(softmax({20000}, 2));
}

TEST(Softmax, GivesTheSameBitsOnAnyNumberOfThreads) {
  check_threads(softmax({701}, 97));
  check_threads(softmax({40, 3}, 300));
}

TEST(Softmax, KeepsOnlyItsOutputForBackward) {
  LayerRun run(softmax({1}, 1));
  EXPECT_FALSE(run.plan().backward_reads_inputs());
  EXPECT_TRUE(run.plan().backward_reads_output());
}

TEST(Softmax, NeedsALastAxis) {
  EXPECT_EQ(error_of(softmax(Shape{}, 1)), "expected values along the last axis of a row, got float64 ()");
  EXPECT_EQ(error_of(softmax({3, 0}, 1)), "expected values along the last axis of a row, got float64 (3, 0)");
}

}  // namespace
}  // namespace millrace::testing
