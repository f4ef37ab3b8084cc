#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "millrace/core/random.h"
#include "tests/layers/gradient_check.h"

namespace millrace::testing {
namespace {

Spec rate(double value) { return Spec::map().set("rate", value); }

LayerCase dropout(double value, const Shape& row, int64_t batch) {
  return {.kind = "dropout", .options = rate(value), .inputs = {row}, .batch = batch};
}

// What becomes of ones.
std::vector<double> factors(const LayerCase& from, uint64_t step) {
  LayerRun run(from);
  run.set_input(0, filled(static_cast<int64_t>(run.input(0).size()), 1));
  run.set_step(step);
  run.forward();
  return run.output();
}

int64_t differing(const std::vector<double>& a, const std::vector<double>& b) {
  int64_t count = 0;
  for (size_t i = 0; i < a.size(); ++i) count += a[i] != b[i];
  return count;
}

// Whether a count is within five deviations of a binomial distribution's mean.
void expect_binomial(int64_t count, int64_t trials, double probability) {
  const double mean = static_cast<double>(trials) * probability;
  EXPECT_NEAR(static_cast<double>(count), mean, 5 * std::sqrt(mean * (1 - probability)));
}

TEST(Dropout, DropsAShareAndScalesTheRest) {
  for (const double share : {0.1, 0.5, 0.75}) {
    LayerCase from = dropout(share, {701}, 97);
    from.dtype = DType::f32;
    int64_t dropped = 0;
    for (const double factor : factors(from, 3)) {
      dropped += factor == 0;
      ASSERT_TRUE(factor == 0 || factor == static_cast<double>(static_cast<float>(1 / (1 - share)))) << factor;
    }
    expect_binomial(dropped, 701 * 97, share);
  }
}

TEST(Dropout, DropsHalfUnlessToldOtherwise) {
  const LayerCase from{.kind = "dropout", .inputs = {Shape{40}}, .batch = 25};
  EXPECT_EQ(factors(from, 2), factors(dropout(0.5, {40}, 25), 2));
}

TEST(Dropout, DrawsByTheNumberOfEachValue) {
  const std::vector<double> drawn = factors(dropout(0.25, {3, 7}, 5), 9);
  for (size_t i = 0; i < drawn.size(); ++i) {
    const double unit = to_unit(philox64(5, fnv1a64("layer"), (uint64_t{9} << 32) + i));
    EXPECT_EQ(drawn[i], unit < 0.25 ? 0 : 1 / 0.75) << i;
  }
}

TEST(Dropout, DropsTheGradientsOfWhatItDropped) {
  LayerRun run(dropout(0.5, {40}, 25));
  for (const uint64_t step : {0, 1, 7}) {
    run.set_input(0, filled(1000, 3));
    run.set_output_gradient(filled(1000, 3));
    run.set_step(step);
    run.forward();
    run.backward();
    EXPECT_EQ(run.input_gradient(0), run.output());
  }
}

TEST(Dropout, DrawsAnewInEveryStepAndForEveryLayer) {
  const LayerCase from = dropout(0.5, {100}, 100);
  LayerCase other = from;
  other.name = "other";
  const std::vector<double> first = factors(from, 0);
  expect_binomial(differing(first, factors(from, 1)), 10000, 0.5);
  expect_binomial(differing(first, factors(other, 0)), 10000, 0.5);
  EXPECT_EQ(first, factors(from, 0));
}

// Chosen, not multiplied: a dropped infinity is no NaN.
TEST(Dropout, DropsWhateverTheValue) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  LayerRun run(dropout(0.5, {40}, 25));
  const std::vector<double> drawn = factors(dropout(0.5, {40}, 25), 0);
  run.set_input(0, filled(1000, infinity));
  run.forward();
  for (size_t i = 0; i < drawn.size(); ++i) EXPECT_EQ(run.output()[i], drawn[i] == 0 ? 0 : infinity) << i;
}

std::vector<double> odd_values() {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  return {1.0 / 3, -0.0, infinity, -infinity, std::numeric_limits<double>::denorm_min(), -7};
}

TEST(Dropout, PredictsTheIdentity) {
  LayerCase from = dropout(0.9, {3}, 2);
  from.mode = Mode::predict;
  LayerRun run(from);
  run.set_input(0, odd_values());
  run.forward();
  EXPECT_EQ(run.output(), odd_values());
}

TEST(Dropout, IsTheIdentityAtRateZero) {
  LayerRun run(dropout(0, {3}, 2));
  run.set_input(0, odd_values());
  run.set_output_gradient(odd_values());
  run.forward();
  run.backward();
  EXPECT_EQ(run.output(), odd_values());
  EXPECT_TRUE(std::signbit(run.output()[1]));
  EXPECT_EQ(run.input_gradient(0), odd_values());
}

TEST(Dropout, AgreesWithDifferences) {
  check_layer(dropout(0.5, {7}, 5));
  check_layer(dropout(0.2, {2, 3, 5}, 3));
  check_float(dropout(0.3, {701}, 97));
}

TEST(Dropout, GivesTheSameBitsOnAnyNumberOfThreads) { check_threads(dropout(0.3, {701}, 97)); }

TEST(Dropout, KeepsNothingForBackward) {
  LayerRun run(dropout(0.5, {5}, 2));
  EXPECT_FALSE(run.plan().backward_reads_inputs());
  EXPECT_FALSE(run.plan().backward_reads_output());
  EXPECT_EQ(run.plan().saved_bytes(), 0U);
}

TEST(Dropout, RejectsWrongRates) {
  EXPECT_EQ(error_of(dropout(1, {1}, 1)), "rate: expected at least 0 and less than 1, got 1");
  EXPECT_EQ(error_of(dropout(-0.5, {1}, 1)), "rate: expected at least 0 and less than 1, got -0.5");
  EXPECT_EQ(error_of(dropout(nans(1)[0], {1}, 1)), "rate: expected at least 0 and less than 1, got .nan");
  EXPECT_EQ(error_of({.kind = "dropout", .options = Spec::map().set("p", 0.5), .inputs = {Shape{1}}}),
            "unknown key p; the keys here are rate");
}

}  // namespace
}  // namespace millrace::testing
