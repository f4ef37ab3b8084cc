#include <gtest/gtest.h>

#include <cmath>

#include "tests/layers/metrics/metric_run.h"

namespace millrace::testing {
namespace {

double accuracy_of(const TensorSpec& prediction, const TensorSpec& label, const MetricRows& rows) {
  return value_of({.kind = "accuracy", .prediction = prediction, .label = label}, rows);
}

const TensorSpec kLogit{Shape{1}, DType::f32};

TEST(Accuracy, ComparesTheSignOfOneLogitWithTheLabel) {
  EXPECT_EQ(accuracy_of(kLogit, {Shape{1}, DType::f32}, {{1, -1, 0, 2, -3}, {1, 0, 0, 0, 1}}), 0.6);
  EXPECT_EQ(accuracy_of(kLogit, {Shape{1}, DType::i32}, {{1, -1, 1, -1}, {1, 0, 0, 1}}), 0.5);
  EXPECT_EQ(accuracy_of({Shape{1}, DType::f64}, {Shape{1}, DType::f32}, {{1e-300, 1}, {1, 0.4}}), 0.5);
}

TEST(Accuracy, ComparesTheLargestLogitWithTheClass) {
  const TensorSpec logits{Shape{3}, DType::f32};
  const std::vector<double> values = {0, 1, 2, 5, 1, 2, -3, -1, -2, 7, 7, 0};
  EXPECT_EQ(accuracy_of(logits, {Shape{1}, DType::i32}, {values, {2, 0, 1, 0}}), 1);
  EXPECT_EQ(accuracy_of(logits, {Shape{1}, DType::i64}, {values, {2, 1, 0, 1}}), 0.25);
}

TEST(Accuracy, NaNIsNeverRight) {
  const double nan = std::nan("");
  for (const DType dtype : {DType::f32, DType::f64}) {
    EXPECT_EQ(accuracy_of({Shape{1}, dtype}, {Shape{1}, DType::f32}, {{nan, nan, -1, 1}, {0, 1, 0, 1}}), 0.5);
    // Wherever it stands, also beside the largest logit.
    const std::vector<double> logits = {nan, nan, nan, nan, 2, 1, 2, nan, 1, 2, 1, nan, 2, 1, 0};
    EXPECT_EQ(accuracy_of({Shape{3}, dtype}, {Shape{1}, DType::i32}, {logits, {0, 1, 0, 0, 0}}), 0.2);
  }
}

TEST(Accuracy, AClassThatIsNotThereIsWrong) {
  const TensorSpec logits{Shape{2}, DType::f32};
  EXPECT_EQ(accuracy_of(logits, {Shape{1}, DType::i32}, {{-1, -2, -1, -2, -1, -2}, {-1, 2, 0}}), 1.0 / 3);
  // Nor does it fit a prediction that says nothing.
  EXPECT_EQ(accuracy_of(logits, {Shape{1}, DType::i32}, {{std::nan(""), 0}, {-1}}), 0);
}

TEST(Accuracy, CountsRowsByTheirWeights) {
  const TensorSpec label{Shape{1}, DType::f32}, classes{Shape{1}, DType::i32};
  EXPECT_EQ(accuracy_of(kLogit, label, {{1, 1, 1, -1}, {1, 0, 0, 0}, {3, 0.5, 0, 0.5}}), 3.5 / 4);
  EXPECT_EQ(accuracy_of({Shape{2}, DType::f32}, classes, {{1, 0, 1, 0}, {0, 1}, {1, 3}}), 0.25);
  // A row of weight 0 is as good as none, and no row has no accuracy.
  EXPECT_TRUE(std::isnan(accuracy_of(kLogit, label, {{1, 1}, {1, 0}, {0, 0}})));
}

TEST(Accuracy, IsNotPlannedForLabelsThatItCannotRead) {
  EXPECT_EQ(plan_error("accuracy"), "accuracy reads float32, int32 or int64 labels, got float64 (4, 1)");
}

// The mean of 1 for each row that is right, by `right`.
double share_of(const MetricRows& rows, const std::function<bool(size_t row)>& right) {
  double hits = 0, weight = 0;
  for (size_t i = 0; i < rows.labels.size(); ++i) {
    hits += right(i) ? rows.weight(i) : 0;
    weight += rows.weight(i);
  }
  return hits / weight;
}

TEST(Accuracy, AgreesWithItsFormulaInAnyBatches) {
  constexpr int64_t batch = 17001;
  check_metric({.kind = "accuracy", .prediction = kLogit, .label = {Shape{1}, DType::f32}},
               {draws_with_ties("logit", batch, -1, 1), drawn_classes("label", batch, 2)}, Joins::exactly,
               Joins::closely, [](const MetricRows& rows) {
                 return share_of(rows, [&](size_t i) { return (rows.predictions[i] > 0) == (rows.labels[i] == 1); });
               });
  check_metric({.kind = "accuracy", .prediction = {Shape{4}, DType::f32}, .label = {Shape{1}, DType::i32}},
               {draws_with_ties("logit", 4 * batch, -1, 1), drawn_classes("label", batch, 4)}, Joins::exactly,
               Joins::closely, [](const MetricRows& rows) {
                 return share_of(rows, [&](size_t i) {
                   const auto first = rows.predictions.begin() + static_cast<int64_t>(4 * i);
                   return std::max_element(first, first + 4) - first == static_cast<int64_t>(rows.labels[i]);
                 });
               });
}

TEST(Accuracy, RejectsWhatItCannotJudge) {
  const std::string hint = "; it takes one logit and one label per row, or several logits and one class index";
  EXPECT_EQ(check_error("accuracy", {Shape{3}, DType::f32}, {Shape{1}, DType::f32}),
            "accuracy does not fit the prediction float32 (3) and the label float32 (1)" + hint);
  EXPECT_EQ(check_error("accuracy", {Shape{3}, DType::f32}, {Shape{3}, DType::f32}),
            "accuracy does not fit the prediction float32 (3) and the label float32 (3)" + hint);
  EXPECT_EQ(check_error("accuracy", {Shape{1}, DType::f32}, {Shape{2}, DType::i32}),
            "accuracy does not fit the prediction float32 (1) and the label int32 (2)" + hint);
  EXPECT_EQ(check_error("accuracy", {Shape{1}, DType::i32}, {Shape{1}, DType::i32}),
            "expected float32 values, got int32 (1)");
  EXPECT_EQ(
      check_error("accuracy", {Shape{2, 2}, DType::f32}, {Shape{1}, DType::i32}),
      "accuracy expects one vector per row, got float32 (2, 2); end the model with a flatten and a dense layer that "
      "has a unit for each class");
}

}  // namespace
}  // namespace millrace::testing
