#include <gtest/gtest.h>

#include "tests/layers/losses/loss_checks.h"

namespace millrace::testing {
namespace {

TEST(MaeLoss, IsTheMeanOverRowsAndColumns) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    LossRun run({.kind = "mae", .row = Shape{2}, .batch = 3, .dtype = dtype});
    run.set_prediction({0.5, -2, 3, 0.25, -1.5, 1});
    run.set_label({1, 1, -1, 0.25, -1, 4});
    // torch.nn.L1Loss() of PyTorch 1.13 gives 11/6 and these gradients, 0 where prediction and label are equal.
    EXPECT_NEAR(run.run(), 11.0 / 6, 1e-6);
    const double sixth = 1.0 / 6;
    expect_close(run.gradient(), {-sixth, -sixth, sixth, 0, -sixth, -sixth}, 1e-7, "gradient");
  }
}

TEST(MaeLoss, WeighsRows) {
  LossRun run({.kind = "mae", .row = Shape{1}, .batch = 2, .weighted = true});
  run.set_prediction({3, -1});
  run.set_label({1, -2});
  run.set_weight({1, 3});
  EXPECT_EQ(run.run(), 1.25);
  EXPECT_EQ(run.gradient(), (std::vector<double>{0.25, 0.75}));
}

TEST(MaeLoss, StaysFiniteForLargeErrors) {
  LossRun run({.kind = "mae", .row = Shape{1}, .batch = 2, .dtype = DType::f32});
  run.set_prediction({1e38, -1e4});
  run.set_label({-1e38, 0});
  EXPECT_NEAR(run.run(), 1e38, 1e32);
  EXPECT_EQ(run.gradient(), (std::vector<double>{0.5, -0.5}));
}

TEST(MaeLoss, DoesWhatALossOwes) {
  for (const Shape& row : {Shape{1}, Shape{3}, Shape{2, 3}}) check_loss({.kind = "mae", .row = row}, numbers());
}

TEST(MaeLoss, ReadsFiniteLabels) {
  const LabelSpec label = make_loss("mae")->label({Shape{3}, DType::f64});
  EXPECT_EQ(label.dtype, DType::f32);
  ASSERT_TRUE(label.range);
  EXPECT_EQ(label.range->max, std::numeric_limits<double>::infinity());
}

TEST(MaeLoss, RejectsOtherLabels) {
  EXPECT_EQ(plan_error("mae", DType::i32), "mae reads float32 labels, got int32 (4, 2)");
  EXPECT_EQ(shape_error([] {
              make_loss("mae")->check({Shape{2}, DType::f32}, {Shape{1}, DType::f32});
            }),
            "mae: the prediction is (2) a row, the label (1); "
            "the last layer needs one unit for each value of the label");
}

}  // namespace
}  // namespace millrace::testing
