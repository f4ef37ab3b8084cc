#include <gtest/gtest.h>

#include "tests/layers/losses/loss_checks.h"

namespace millrace::testing {
namespace {

TEST(HingeLoss, IsTheMeanOverRows) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    LossRun run({.kind = "hinge", .row = Shape{1}, .batch = 4, .dtype = dtype});
    run.set_prediction({0.5, 0.25, 2, -3});
    run.set_label({1, 0, 1, 0});
    // sklearn.metrics.hinge_loss of scikit-learn 1.2 gives 0.4375.
    EXPECT_EQ(run.run(), 0.4375);
    EXPECT_EQ(run.gradient(), (std::vector<double>{-0.25, 0.25, 0, 0}));
  }
}

TEST(HingeLoss, WeighsRows) {
  LossRun run({.kind = "hinge", .row = Shape{1}, .batch = 4, .weighted = true});
  run.set_prediction({0.5, 0.25, 2, -3});
  run.set_label({1, 0, 1, 0});
  run.set_weight({1, 2, 3, 4});
  // scikit-learn, with these sample_weight.
  EXPECT_NEAR(run.run(), 0.3, 1e-15);
  EXPECT_EQ(run.gradient(), (std::vector<double>{-0.1, 0.2, 0, 0}));
}

TEST(HingeLoss, IsTheMeanOverColumnsToo) {
  LossRun run({.kind = "hinge", .row = Shape{2}, .batch = 1});
  run.set_prediction({0, -2});
  run.set_label({0, 1});
  EXPECT_EQ(run.run(), 2);
  EXPECT_EQ(run.gradient(), (std::vector<double>{0.5, -0.5}));
}

TEST(HingeLoss, TeachesNothingAtTheKink) {
  LossRun run({.kind = "hinge", .row = Shape{1}, .batch = 2});
  run.set_prediction({1, -1});
  run.set_label({1, 0});
  EXPECT_EQ(run.run(), 0);
  EXPECT_EQ(run.gradient(), (std::vector<double>{0, 0}));
}

TEST(HingeLoss, StaysFiniteForLargeLogits) {
  LossRun run({.kind = "hinge", .row = Shape{1}, .batch = 4, .dtype = DType::f32});
  run.set_prediction({1e4, -1e4, 1e4, -1e4});
  run.set_label({1, 0, 0, 1});
  EXPECT_EQ(run.run(), 10001 / 2.0);
  EXPECT_EQ(run.gradient(), (std::vector<double>{0, 0, 0.25, -0.25}));
}

TEST(HingeLoss, DoesWhatALossOwes) {
  for (const Shape& row : {Shape{1}, Shape{2, 3}}) check_loss({.kind = "hinge", .row = row}, classes(2));
}

TEST(HingeLoss, ReadsZeroAndOneAlone) {
  const LabelSpec label = make_loss("hinge")->label({Shape{3}, DType::f64});
  EXPECT_EQ(label.dtype, DType::i32);
  ASSERT_TRUE(label.range);
  EXPECT_EQ(label.range->min, 0);
  EXPECT_EQ(label.range->max, 1);
}

TEST(HingeLoss, RejectsOtherLabels) {
  EXPECT_EQ(plan_error("hinge", DType::f32), "hinge reads int32 labels, got float32 (4, 2)");
  EXPECT_EQ(shape_error([] {
              make_loss("hinge")->check({Shape{2}, DType::f32}, {Shape{1}, DType::f32});
            }),
            "hinge: the prediction is (2) a row, the label (1); "
            "the last layer needs one unit for each value of the label");
}

}  // namespace
}  // namespace millrace::testing
