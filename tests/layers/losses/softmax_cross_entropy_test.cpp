#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/layers/losses/loss_checks.h"

namespace millrace::testing {
namespace {

constexpr char kKind[] = "softmax_cross_entropy";

Spec smoothing(double value) { return Spec::map().set("label_smoothing", value); }

LossCase rows_of(int64_t classes, double smooth = 0) {
  return {.kind = kKind, .options = smoothing(smooth), .row = Shape{classes}, .label_row = Shape{1}};
}

TEST(SoftmaxCrossEntropy, IsTheMeanOverRows) {
  LossCase from = rows_of(2);
  from.batch = 2;
  LossRun run(from);
  run.set_prediction({0, 0, std::log(3.0), 0});
  run.set_label({1, 0});
  EXPECT_NEAR(run.run(), (std::log(2.0) + std::log(4.0 / 3)) / 2, 1e-15);
  EXPECT_EQ(run.weight(), 2);
  expect_close(run.gradient(), {0.25, -0.25, -0.125, 0.125}, 1e-15, "gradient");
}

// torch.nn.CrossEntropyLoss(label_smoothing=s)(z, y) of PyTorch 1.13 in float64, and the gradients of z.
TEST(SoftmaxCrossEntropy, AgreesWithPyTorch) {
  const std::vector<double> plain = {0.10855778317108701,   0.014691698332997848, -0.15435180711910973,
                                     0.031102325615024844,  0.06990950436038423,  0.06990950436038423,
                                     0.0034805892731539344, -0.14329959799392245, -0.3315509003170837,
                                     0.2645365148303454,    0.007988310567535784, 0.05902607491920246};
  const std::vector<double> smooth = {0.10022444983775369,   0.006358364999664516,    -0.12935180711910974,
                                      0.022768992281691516,  0.061576171027050916,    0.061576171027050916,
                                      -0.004852744060179399, -0.11829959799392244,    -0.3065509003170837,
                                      0.25620318149701216,   -0.00034502276579754566, 0.05069274158586915};
  for (const DType dtype : {DType::f32, DType::f64}) {
    const double tolerance = dtype == DType::f32 ? 1e-6 : 1e-15;
    for (const double s : {0.0, 0.1}) {
      LossCase from = rows_of(4, s);
      from.dtype = dtype;
      LossRun run(from);
      run.set_prediction({1.5, -0.5, 2, 0.25, 0, 0, -3, 1, -1, 4, 0.5, 2.5});
      run.set_label({2, 3, 0});
      EXPECT_NEAR(run.run(), s == 0 ? 2.138321823686113 : 2.144571823686113, 3 * tolerance);
      expect_close(run.gradient(), s == 0 ? plain : smooth, tolerance, "gradient");
    }
  }
}

TEST(SoftmaxCrossEntropy, WeighsRows) {
  LossCase from = rows_of(2);
  from.batch = 2;
  from.weighted = true;
  LossRun run(from);
  run.set_prediction({0, 0, std::log(3.0), 0});
  run.set_label({1, 0});
  run.set_weight({3, 1});
  EXPECT_NEAR(run.run(), (3 * std::log(2.0) + std::log(4.0 / 3)) / 4, 1e-15);
  EXPECT_EQ(run.weight(), 4);
  expect_close(run.gradient(), {0.375, -0.375, -0.0625, 0.0625}, 1e-15, "gradient");
}

TEST(SoftmaxCrossEntropy, StaysExactForLargeLogits) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    LossCase from = rows_of(3);
    from.dtype = dtype;
    from.batch = 4;
    LossRun run(from);
    run.set_prediction({1e4, -1e4, 0, 1e4, -1e4, 0, -1e4, -1e4, -1e4, 1e4, 1e4, -1e4});
    run.set_label({0, 1, 2, 1});
    EXPECT_NEAR(run.run(), (0 + 2e4 + std::log(3.0) + std::log(2.0)) / 4, dtype == DType::f32 ? 1e-3 : 1e-11);
    const double third = 1.0 / 12;
    expect_close(run.gradient(), {0, 0, 0, 0.25, -0.25, 0, third, third, -2 * third, 0.125, -0.125, 0}, 1e-6,
                 "gradient");
  }
  // Smoothed, the mean of the logits counts: (0 + 1e4 + 2e4) / 3 below the largest.
  LossCase from = rows_of(3, 0.3);
  from.batch = 1;
  LossRun run(from);
  run.set_prediction({1e4, 0, -1e4});
  run.set_label({0});
  EXPECT_NEAR(run.run(), 0.3 * 1e4, 1e-9);
}

TEST(SoftmaxCrossEntropy, SeesWhatACertainPredictionLacks) {
  LossCase from = rows_of(2);
  from.dtype = DType::f32;
  from.batch = 1;
  LossRun run(from);
  run.set_prediction({0, -20});
  run.set_label({0});
  EXPECT_NEAR(run.run(), std::exp(-20.0), 1e-6 * std::exp(-20.0));
}

TEST(SoftmaxCrossEntropy, AClassMayBeImpossible) {
  LossCase from = rows_of(3);
  from.batch = 1;
  LossRun run(from);
  const double infinity = std::numeric_limits<double>::infinity();
  run.set_prediction({-infinity, 0, 0});
  run.set_label({1});
  EXPECT_NEAR(run.run(), std::log(2.0), 1e-15);
  EXPECT_EQ(run.gradient(), (std::vector<double>{0, -0.5, 0.5}));
  run.set_label({0});
  EXPECT_EQ(run.run(), infinity);
}

TEST(SoftmaxCrossEntropy, ALabelThatIsNoClassGivesNaN) {
  for (const double label : {-1.0, 2.0}) {
    LossCase from = rows_of(2);
    from.batch = 1;
    LossRun run(from);
    run.set_prediction({0, 1});
    run.set_label({label});
    EXPECT_TRUE(std::isnan(run.run())) << label;
  }
}

TEST(SoftmaxCrossEntropy, DoesWhatALossOwes) {
  check_loss(rows_of(2), classes(2));
  check_loss(rows_of(4), classes(4));
  check_loss(rows_of(37, 0.2), classes(37));
}

TEST(SoftmaxCrossEntropy, ReadsTheIndexOfAClass) {
  const LabelSpec label = make_loss(kKind)->label({Shape{10}, DType::f64});
  EXPECT_EQ(label.dtype, DType::i32);
  ASSERT_TRUE(label.range);
  EXPECT_EQ(label.range->min, 0);
  EXPECT_EQ(label.range->max, 9);
  EXPECT_EQ(label.range->hint,
            "classes are counted from 0, and the last layer needs a unit for each; without a class (-1) a row can only "
            "be predicted");
}

TEST(SoftmaxCrossEntropy, RejectsWhatDoesNotFit) {
  EXPECT_EQ(plan_error(kKind, DType::f32), "softmax_cross_entropy reads int32 labels, got float32 (4, 2)");
  const auto error_of = [](const Shape& prediction, const Shape& label) {
    return shape_error([&] { make_loss(kKind)->check({prediction, DType::f32}, {label, DType::f32}); });
  };
  const std::string hint = "; it takes a logit for each of two or more classes, and one class index per row";
  EXPECT_EQ(error_of({1}, {1}),
            "softmax_cross_entropy does not fit the prediction float32 (1) and the label float32 (1)" + hint);
  EXPECT_EQ(error_of({3}, {3}),
            "softmax_cross_entropy does not fit the prediction float32 (3) and the label float32 (3)" + hint);
  EXPECT_EQ(error_of({2, 2}, {1}),
            "softmax_cross_entropy expects one vector per row, got float32 (2, 2); end the model with a flatten and a "
            "dense layer that has a unit for each class");
}

TEST(SoftmaxCrossEntropy, RejectsSmoothingThatLeavesNothing) {
  const auto error_of = [](double value) -> std::string {
    try {
      make_loss(kKind, smoothing(value));
    } catch (const ConfigError& error) {
      return error.message();
    }
    return "no error";
  };
  EXPECT_EQ(error_of(1), "label_smoothing: expected at least 0 and less than 1, got 1");
  EXPECT_EQ(error_of(-0.1), "label_smoothing: expected at least 0 and less than 1, got -0.1");
  EXPECT_EQ(error_of(1.5), "label_smoothing: expected at least 0 and less than 1, got 1.5");
  EXPECT_EQ(error_of(0.99), "no error");
}

}  // namespace
}  // namespace millrace::testing
