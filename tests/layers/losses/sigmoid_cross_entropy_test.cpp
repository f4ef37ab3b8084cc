#include <gtest/gtest.h>

#include <cmath>

#include "tests/layers/losses/loss_checks.h"

namespace millrace::testing {
namespace {

constexpr char kKind[] = "sigmoid_cross_entropy";

// Labels that are half zeros and ones, half probabilities.
std::vector<double> labels(int64_t count) {
  std::vector<double> out = draws("label", count, 0, 1);
  for (size_t i = 0; i < out.size(); i += 2) out[i] = out[i] > 0.5 ? 1 : 0;
  return out;
}

TEST(SigmoidCrossEntropy, IsTheMeanOverRows) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    LossRun run({.kind = kKind, .row = Shape{1}, .batch = 3, .dtype = dtype});
    run.set_prediction({0, 2, -1});
    run.set_label({1, 1, 0});
    const double tolerance = dtype == DType::f32 ? 1e-7 : 1e-15;
    EXPECT_NEAR(run.run(), (std::log(2.0) + std::log1p(std::exp(-2.0)) + std::log1p(std::exp(-1.0))) / 3, tolerance);
    EXPECT_EQ(run.weight(), 3);
    const std::vector<double> expected = {-0.5 / 3, (1 / (1 + std::exp(-2.0)) - 1) / 3, 1 / (1 + std::exp(1.0)) / 3};
    for (size_t i = 0; i < 3; ++i) EXPECT_NEAR(run.gradient()[i], expected[i], tolerance) << i;
  }
}

TEST(SigmoidCrossEntropy, IsTheMeanOverColumnsToo) {
  LossRun run({.kind = kKind, .row = Shape{2}, .batch = 2});
  run.set_prediction({0, 0, 0, 0});
  run.set_label({0, 1, 1, 0.5});
  EXPECT_NEAR(run.run(), std::log(2.0), 1e-15);
  EXPECT_EQ(run.gradient(), (std::vector<double>{0.125, -0.125, -0.125, 0}));
}

TEST(SigmoidCrossEntropy, WeighsRows) {
  LossRun run({.kind = kKind, .row = Shape{2}, .batch = 2, .weighted = true});
  run.set_prediction({0, 0, 3, 3});
  run.set_label({0, 1, 1, 1});
  run.set_weight({3, 1});
  EXPECT_NEAR(run.run(), (3 * std::log(2.0) + std::log1p(std::exp(-3.0))) / 4, 1e-15);
  EXPECT_EQ(run.weight(), 4);
  EXPECT_NEAR(run.gradient()[0], 0.5 * 3 / 4 / 2, 1e-15);
  EXPECT_NEAR(run.gradient()[2], (1 / (1 + std::exp(-3.0)) - 1) / 4 / 2, 1e-15);
}

TEST(SigmoidCrossEntropy, StaysFiniteForLargeLogits) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    LossRun run({.kind = kKind, .row = Shape{1}, .batch = 4, .dtype = dtype});
    run.set_prediction({1000, -1000, 1000, -1000});
    run.set_label({1, 0, 0, 1});
    EXPECT_EQ(run.run(), 500);
    EXPECT_EQ(run.gradient(), (std::vector<double>{0, 0, 0.25, -0.25}));
  }
}

TEST(SigmoidCrossEntropy, DoesWhatALossOwes) {
  for (const Shape& row : {Shape{1}, Shape{5}, Shape{2, 3}}) check_loss({.kind = kKind, .row = row}, labels);
}

TEST(SigmoidCrossEntropy, ReadsLabelsBetweenZeroAndOne) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    const LabelSpec label = make_loss(kKind)->label({Shape{3}, dtype});
    EXPECT_EQ(label.dtype, DType::f32);
    ASSERT_TRUE(label.range);
    EXPECT_EQ(label.range->min, 0);
    EXPECT_EQ(label.range->max, 1);
  }
}

TEST(SigmoidCrossEntropy, RejectsOtherLabels) {
  EXPECT_EQ(plan_error(kKind, DType::f64), "sigmoid_cross_entropy reads float32 labels, got float64 (4, 2)");
  EXPECT_EQ(shape_error([] {
              make_loss(kKind)->check({Shape{10}, DType::f32}, {Shape{1}, DType::f32});
            }),
            "sigmoid_cross_entropy: the prediction is (10) a row, the label (1); "
            "the last layer needs one unit for each value of the label");
}

}  // namespace
}  // namespace millrace::testing
