#include <gtest/gtest.h>

#include "tests/layers/losses/loss_checks.h"

namespace millrace::testing {
namespace {

TEST(MseLoss, IsTheMeanOverRowsAndColumns) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    LossRun run({.kind = "mse", .row = Shape{2}, .batch = 3, .dtype = dtype});
    run.set_prediction({0.5, -2, 3, 0.25, -1.5, 1});
    run.set_label({1, 1, -1, 0.25, -1, 4});
    // torch.nn.MSELoss() of PyTorch 1.13 gives 5.75 and these gradients.
    EXPECT_EQ(run.run(), 5.75);
    expect_close(run.gradient(), {-1.0 / 6, -1, 8.0 / 6, 0, -1.0 / 6, -1}, 1e-7, "gradient");
  }
}

TEST(MseLoss, WeighsRows) {
  LossRun run({.kind = "mse", .row = Shape{1}, .batch = 2, .weighted = true});
  run.set_prediction({3, -1});
  run.set_label({1, -2});
  run.set_weight({1, 3});
  EXPECT_EQ(run.run(), 1.75);
  EXPECT_EQ(run.gradient(), (std::vector<double>{1, 1.5}));
}

TEST(MseLoss, StaysFiniteForLargeErrors) {
  LossRun run({.kind = "mse", .row = Shape{1}, .batch = 2, .dtype = DType::f32});
  run.set_prediction({1e4, -1e4});
  run.set_label({-1e4, 0});
  EXPECT_EQ(run.run(), 2.5e8);
  EXPECT_EQ(run.gradient(), (std::vector<double>{2e4, -1e4}));
}

TEST(MseLoss, DoesWhatALossOwes) {
  for (const Shape& row : {Shape{1}, Shape{3}, Shape{2, 3}}) check_loss({.kind = "mse", .row = row}, numbers());
}

TEST(MseLoss, ReadsFiniteLabels) {
  const LabelSpec label = make_loss("mse")->label({Shape{3}, DType::f64});
  EXPECT_EQ(label.dtype, DType::f32);
  ASSERT_TRUE(label.range);
  EXPECT_EQ(label.range->min, -std::numeric_limits<double>::infinity());
  EXPECT_EQ(label.range->max, std::numeric_limits<double>::infinity());
}

TEST(MseLoss, RejectsOtherLabels) {
  EXPECT_EQ(plan_error("mse", DType::i32), "mse reads float32 labels, got int32 (4, 2)");
  EXPECT_EQ(shape_error([] {
              make_loss("mse")->check({Shape{2}, DType::f32}, {Shape{1}, DType::f32});
            }),
            "mse: the prediction is (2) a row, the label (1); "
            "the last layer needs one unit for each value of the label");
  EXPECT_EQ(shape_error([] {
              make_loss("mse")->check({Shape{1}, DType::i32}, {Shape{1}, DType::f32});
            }),
            "expected float32 values, got int32 (1)");
}

}  // namespace
}  // namespace millrace::testing
