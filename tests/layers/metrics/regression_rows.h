// Rows for the tests of metrics of numbers, and what those tests have in common.
#pragma once

#include "tests/layers/metrics/metric_run.h"

namespace millrace::testing {

inline MetricCase numbers_of(const std::string& kind, const Shape& row) {
  return {.kind = kind, .prediction = {row, DType::f32}, .label = {row, DType::f32}};
}

// Two columns, four rows. What scikit-learn 1.2 says of them stands in the tests.
inline MetricRows four_rows() { return {{2.5, 0, 0, 2, 2, 0.25, 8, 1.5}, {3, -0.5, 2, 7, 1, 0.5, -1, 2}}; }
inline std::vector<double> four_weights() { return {1, 2, 0.5, 3}; }

inline MetricRows drawn_numbers(int64_t rows, int64_t columns) {
  return {draws_with_ties("prediction", rows * columns, -4, 4), draws_with_ties("label", rows * columns, -4, 4)};
}

// The weighted mean of f(error) over rows and columns.
inline double mean_error(const MetricRows& rows, double (*f)(double error)) {
  double sum = 0, weight = 0;
  const size_t columns = rows.weights.empty() ? 1 : rows.labels.size() / rows.weights.size();
  for (size_t i = 0; i < rows.labels.size(); ++i) {
    const double w = rows.weight(i / columns);
    sum += w * f(rows.predictions[i] - rows.labels[i]);
    weight += w;
  }
  return sum / weight;
}

inline void check_number_metric_rejects(const std::string& kind) {
  const TensorSpec pair{Shape{2}, DType::f32};
  EXPECT_EQ(check_error(kind, pair, pair), "no error");
  EXPECT_EQ(check_error(kind, {Shape{2, 3}, DType::f64}, {Shape{2, 3}, DType::f32}), "no error");
  EXPECT_EQ(check_error(kind, pair, {Shape{1}, DType::f32}),
            kind +
                ": the prediction is (2) a row, the label (1); "
                "the last layer needs one unit for each value of the label");
  EXPECT_EQ(check_error(kind, {Shape{1, 2, 2}, DType::f32}, {Shape{4}, DType::f32}),
            kind +
                ": the prediction is (1, 2, 2) a row, the label (4); "
                "put a reshape after the last layer, or give the label's field a reshape in decode_csv");
  const std::string classes =
      " compares the prediction with amounts, but this loss reads labels as classes, int32 (1); choose a metric of "
      "classes, such as accuracy";
  EXPECT_EQ(check_error(kind, {Shape{1}, DType::f32}, {Shape{1}, DType::i32}), kind + classes);
  EXPECT_EQ(check_error(kind, pair, {Shape{1}, DType::i32}), kind + classes) << "whatever the shapes";
  EXPECT_EQ(check_error(kind, {Shape{2}, DType::i32}, pair), "expected float32 values, got int32 (2)");
  EXPECT_EQ(plan_error(kind), kind + " reads float32 labels, got float64 (4, 1)");
}

// A NaN of a row that counts.
inline void check_shows_nan(const std::string& kind) {
  MetricRows rows = four_rows();
  rows.predictions[3] = std::nan("");
  EXPECT_TRUE(std::isnan(value_of(numbers_of(kind, Shape{2}), rows)));
}

}  // namespace millrace::testing
