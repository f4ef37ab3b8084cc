#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tests/layers/metrics/metric_run.h"

namespace millrace::testing {
namespace {

Spec k_of(int64_t k) { return Spec::map().set("k", k); }

double top_k(int64_t k, int64_t classes, const MetricRows& rows) {
  return value_of({.kind = "top_k",
                   .options = k_of(k),
                   .prediction = {Shape{classes}, DType::f32},
                   .label = {Shape{1}, DType::i32}},
                  rows);
}

TEST(TopK, LooksForTheLabelAmongTheLargestLogits) {
  MetricRows rows{{0.1, 0.2, 0.3, 0.4, 3, 1, 2, 0, 0.5, -1, 0.75, 0.25, 2, 5, 1, 3, 1, 0, -1, -2}, {2, 2, 1, 3, 0}};
  // sklearn.metrics.top_k_accuracy_score of scikit-learn 1.2, without and with sample_weight.
  const double plain[] = {0.2, 0.8, 0.8}, weighted[] = {1.0 / 6, 5.5 / 6, 5.5 / 6};
  for (int64_t k = 1; k <= 3; ++k) {
    rows.weights = {};
    EXPECT_DOUBLE_EQ(top_k(k, 4, rows), plain[k - 1]) << k;
    rows.weights = {1, 2, 0.5, 1.5, 1};
    EXPECT_DOUBLE_EQ(top_k(k, 4, rows), weighted[k - 1]) << k;
  }
}

TEST(TopK, OfEqualLogitsTheLowestIndexComesFirst) {
  const std::vector<double> equal(12, 1.0);
  EXPECT_EQ(top_k(1, 4, {equal, {0, 1, 2}}), 1.0 / 3);
  EXPECT_EQ(top_k(2, 4, {equal, {0, 1, 2}}), 2.0 / 3);
  EXPECT_EQ(top_k(3, 4, {equal, {0, 1, 3}}), 2.0 / 3);
}

TEST(TopK, NaNIsNeverRight) {
  const double nan = std::nan("");
  EXPECT_EQ(top_k(2, 3, {{nan, nan, nan, nan, 2, 1, 2, nan, 1, 2, 1, nan, 2, 1, 0}, {0, 1, 0, 0, 1}}), 0.2);
}

TEST(TopK, AClassThatIsNotThereIsWrong) { EXPECT_EQ(top_k(2, 3, {{3, 2, 1, 3, 2, 1, 3, 2, 1}, {-1, 3, 1}}), 1.0 / 3); }

// Sorts each row's classes, the largest logit first.
double by_sorting(const MetricRows& rows, int64_t k, int64_t classes) {
  double hits = 0, weight = 0;
  for (size_t row = 0; row < rows.labels.size(); ++row) {
    const double* const logits = rows.predictions.data() + static_cast<int64_t>(row) * classes;
    std::vector<int> order(static_cast<size_t>(classes));
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return logits[a] > logits[b]; });
    const bool right =
        std::find(order.begin(), order.begin() + k, static_cast<int>(rows.labels[row])) - order.begin() < k;
    hits += right ? rows.weight(row) : 0;
    weight += rows.weight(row);
  }
  return hits / weight;
}

TEST(TopK, AgreesWithItsFormulaInAnyBatches) {
  constexpr int64_t batch = 5001, classes = 9;
  for (const int64_t k : {1, 3, 8}) {
    for (const DType label : {DType::i32, DType::i64}) {
      check_metric(
          {.kind = "top_k", .options = k_of(k), .prediction = {Shape{classes}, DType::f32}, .label = {Shape{1}, label}},
          {draws_with_ties("logit", classes * batch, -1, 1), drawn_classes("label", batch, classes)}, Joins::exactly,
          Joins::closely, [&](const MetricRows& rows) { return by_sorting(rows, k, classes); });
    }
  }
}

TEST(TopK, WithKOfOneIsTheAccuracy) {
  const MetricCase from{
      .kind = "top_k", .options = k_of(1), .prediction = {Shape{5}, DType::f32}, .label = {Shape{1}, DType::i32}};
  MetricCase accuracy = from;
  accuracy.kind = "accuracy";
  accuracy.options = Spec::map();
  const MetricRows rows{draws_with_ties("logit", 5000, -1, 1), drawn_classes("label", 1000, 5)};
  EXPECT_EQ(value_of(from, rows), value_of(accuracy, rows));
}

TEST(TopK, RejectsWhatItCannotJudge) {
  const TensorSpec ten{Shape{10}, DType::f32}, index{Shape{1}, DType::i32};
  EXPECT_EQ(check_error("top_k", ten, index), "no error");
  EXPECT_EQ(check_error("top_k", {Shape{5}, DType::f32}, index),
            "top_k: every row of 5 logits is right with k of 5; choose k below the number of classes");
  EXPECT_EQ(check_error("top_k", {Shape{5}, DType::f32}, index, k_of(4)), "no error");
  EXPECT_EQ(check_error("top_k", ten, {Shape{1}, DType::f32}),
            "top_k does not fit the prediction float32 (10) and the label float32 (1); "
            "it takes several logits and one class index per row");
  EXPECT_EQ(check_error("top_k", ten, {Shape{10}, DType::i32}),
            "top_k does not fit the prediction float32 (10) and the label int32 (10); "
            "it takes several logits and one class index per row");
  EXPECT_EQ(plan_error("top_k", 3), "top_k reads int32 or int64 labels, got float64 (4, 3)");
  try {
    make_metric("top_k", k_of(0));
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_EQ(error.message(), "k: expected at least 1, got 0");
  }
}

}  // namespace
}  // namespace millrace::testing
