#include <gtest/gtest.h>

#include "tests/layers/losses/loss_checks.h"

namespace millrace::testing {
namespace {

Spec delta(double value) { return Spec::map().set("delta", value); }

TEST(HuberLoss, IsTheMeanOverRowsAndColumns) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    // torch.nn.HuberLoss(delta) of PyTorch 1.13 gives 1.4583333333333333 and 1.9791666666666667, and these gradients.
    LossRun unit({.kind = "huber", .row = Shape{2}, .batch = 3, .dtype = dtype});
    LossRun wide({.kind = "huber", .options = delta(1.5), .row = Shape{2}, .batch = 3, .dtype = dtype});
    for (LossRun* run : {&unit, &wide}) {
      run->set_prediction({0.5, -2, 3, 0.25, -1.5, 1});
      run->set_label({1, 1, -1, 0.25, -1, 4});
    }
    EXPECT_NEAR(unit.run(), 1.4583333333333333, 1e-7);
    expect_close(unit.gradient(), {-0.5 / 6, -1.0 / 6, 1.0 / 6, 0, -0.5 / 6, -1.0 / 6}, 1e-7, "gradient");
    EXPECT_NEAR(wide.run(), 1.9791666666666667, 1e-6);
    expect_close(wide.gradient(), {-0.5 / 6, -0.25, 0.25, 0, -0.5 / 6, -0.25}, 1e-7, "gradient");
  }
}

TEST(HuberLoss, IsSmoothAtDelta) {
  LossRun run({.kind = "huber", .options = delta(2), .row = Shape{1}, .batch = 2});
  run.set_prediction({2, -2});
  run.set_label({0, 0});
  EXPECT_EQ(run.run(), 2);
  EXPECT_EQ(run.gradient(), (std::vector<double>{1, -1}));
}

TEST(HuberLoss, StaysFiniteForLargeErrors) {
  LossRun run({.kind = "huber", .row = Shape{1}, .batch = 2, .dtype = DType::f32});
  run.set_prediction({1e30, -1e4});
  run.set_label({0, 0});
  // The square of the first error is no float32.
  EXPECT_NEAR(run.run(), 5e29, 1e24);
  EXPECT_EQ(run.gradient(), (std::vector<double>{0.5, -0.5}));
}

TEST(HuberLoss, DoesWhatALossOwes) {
  check_loss({.kind = "huber", .row = Shape{1}}, numbers());
  check_loss({.kind = "huber", .options = delta(2.5), .row = Shape{2, 3}}, numbers());
}

TEST(HuberLoss, RejectsADeltaThatNoFloatHolds) {
  for (const double bad : {0.0, -1.0, 1e-50, 1e19}) {
    try {
      make_loss("huber", delta(bad));
      FAIL();
    } catch (const ConfigError& error) {
      EXPECT_EQ(error.message(), cat("delta: expected at least 1e-30 and at most 1e+18, got ", bad));
    }
  }
}

TEST(HuberLoss, RejectsOtherLabels) {
  EXPECT_EQ(plan_error("huber", DType::i32), "huber reads float32 labels, got int32 (4, 2)");
  EXPECT_EQ(shape_error([] {
              make_loss("huber")->check({Shape{2}, DType::f32}, {Shape{1}, DType::f32});
            }),
            "huber: the prediction is (2) a row, the label (1); "
            "the last layer needs one unit for each value of the label");
}

}  // namespace
}  // namespace millrace::testing
