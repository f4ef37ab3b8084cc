// Rows for the tests of precision, recall and f1, and what those tests have in common.
#pragma once

#include <map>
#include <set>

#include "tests/layers/metrics/metric_run.h"

namespace millrace::testing {

inline MetricCase logits_of(const std::string& kind, int64_t columns, DType label = DType::i32) {
  return {.kind = kind, .prediction = {Shape{columns}, DType::f32}, .label = {Shape{1}, label}};
}

// Logits of which the largest is `said`.
inline std::vector<double> logits_for(const std::vector<double>& said, size_t classes) {
  std::vector<double> logits(said.size() * classes, -1.0);
  for (size_t i = 0; i < said.size(); ++i) logits[i * classes + static_cast<size_t>(said[i])] = 2;
  return logits;
}

// What scikit-learn 1.2 says of these rows, without and with these weights, stands in the tests.
inline MetricRows yes_or_no() { return {{-1, 0.5, 0.5, 2, -0.25, 0.5, 0.5, -2, 3, 2}, {0, 0, 1, 1, 1, 0, 1, 0, 1, 0}}; }
inline MetricRows four_classes() {
  return {logits_for({0, 2, 2, 1, 0, 1, 0, 1, 0, 1}, 4), {0, 1, 2, 3, 0, 1, 2, 0, 0, 1}};
}
inline std::vector<double> ten_weights() { return {1, 2, 0.5, 1.5, 1, 0.25, 3, 1, 2, 0.75}; }

struct Found {
  double yes, yes_weighted, classes, classes_weighted;
};

inline void check_class_values(const std::string& kind, const Found& expected) {
  MetricRows binary = yes_or_no(), classes = four_classes();
  EXPECT_NEAR(value_of(logits_of(kind, 1, DType::f32), binary), expected.yes, 1e-15);
  EXPECT_NEAR(value_of(logits_of(kind, 4), classes), expected.classes, 1e-15);
  binary.weights = classes.weights = ten_weights();
  EXPECT_NEAR(value_of(logits_of(kind, 1, DType::i64), binary), expected.yes_weighted, 1e-15);
  EXPECT_NEAR(value_of(logits_of(kind, 4, DType::i64), classes), expected.classes_weighted, 1e-15);
}

// score(right, predicted, labelled) of "yes", or the mean over the classes that occur.
using Score = double (*)(double right, double predicted, double labelled);

inline double by_counting(const MetricRows& rows, size_t columns, Score score) {
  std::map<int, double> right, predicted, labelled;
  std::set<int> occurring;
  for (size_t i = 0; i < rows.labels.size(); ++i) {
    const auto logits = rows.predictions.begin() + static_cast<int64_t>(i * columns);
    const int label = static_cast<int>(rows.labels[i]);
    const int said = columns == 1
                         ? (*logits > 0 ? 1 : 0)
                         : static_cast<int>(std::max_element(logits, logits + static_cast<int64_t>(columns)) - logits);
    predicted[said] += rows.weight(i);
    labelled[label] += rows.weight(i);
    if (said == label) right[said] += rows.weight(i);
    if (rows.weight(i) > 0) occurring.insert({said, label});
  }
  if (columns == 1) return score(right[1], predicted[1], labelled[1]);
  double sum = 0;
  for (const int each : occurring) sum += score(right[each], predicted[each], labelled[each]);
  return sum / static_cast<double>(occurring.size());
}

inline void check_class_metric(const std::string& kind, Score score) {
  for (const size_t columns : {size_t{1}, size_t{2}, size_t{9}}) {
    // Of nine classes two never occur as labels, and two never as predictions.
    const int64_t batch = 4501, count = static_cast<int64_t>(columns);
    MetricRows rows{draws_with_ties("logit", batch * count, -1, 1),
                    drawn_classes("label", batch, columns == 9 ? 7 : 2)};
    for (size_t i = 0; columns == 9 && i < rows.predictions.size(); i += 9) rows.predictions[i + 1] = -2;
    check_metric(logits_of(kind, count, columns == 1 ? DType::f32 : DType::i32), rows, Joins::exactly, Joins::closely,
                 [&](const MetricRows& each) { return by_counting(each, columns, score); });
  }
}

// A division by zero is 0; a NaN is of no class; a label that is no class is never right.
inline void check_class_edges(const std::string& kind) {
  const double nan = std::nan("");
  EXPECT_EQ(value_of(logits_of(kind, 1, DType::f32), {{-1, -1}, {0, 0}}), 0);
  EXPECT_EQ(value_of(logits_of(kind, 1, DType::f32), {{-1, 1}, {1, 0}}), 0);
  EXPECT_EQ(value_of(logits_of(kind, 1, DType::f32), {{nan, nan}, {1, 0}}), 0);
  EXPECT_EQ(value_of(logits_of(kind, 2), {{nan, 0, 0, nan}, {1, 0}}), 0);
  EXPECT_EQ(value_of(logits_of(kind, 2), {{1, 0, 1, 0}, {-1, 2}}), 0);
  EXPECT_EQ(value_of(logits_of(kind, 2, DType::i64), {{1, 0}, {4294967296}}), 0);
  // The first of equal logits wins.
  EXPECT_EQ(value_of(logits_of(kind, 3), {{2, 2, 2}, {0}}), 1);
}

inline void check_class_metric_rejects(const std::string& kind) {
  const std::string hint = "; it takes one logit and one label per row, or several logits and one class index";
  EXPECT_EQ(check_error(kind, {Shape{3}, DType::f32}, {Shape{1}, DType::f32}),
            kind + " does not fit the prediction float32 (3) and the label float32 (1)" + hint);
  EXPECT_EQ(check_error(kind, {Shape{1}, DType::f32}, {Shape{2}, DType::i32}),
            kind + " does not fit the prediction float32 (1) and the label int32 (2)" + hint);
  EXPECT_EQ(
      check_error(kind, {Shape{2, 2}, DType::f32}, {Shape{1}, DType::i32}),
      kind +
          " expects one vector per row, got float32 (2, 2); end the model with a flatten and a dense layer that has "
          "a unit for each class");
  EXPECT_EQ(plan_error(kind), kind + " reads float32, int32 or int64 labels, got float64 (4, 1)");
}

}  // namespace millrace::testing
