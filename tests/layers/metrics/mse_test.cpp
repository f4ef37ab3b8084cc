#include <gtest/gtest.h>

#include <cmath>

#include "tests/layers/metrics/regression_rows.h"

namespace millrace::testing {
namespace {

// sklearn.metrics.mean_squared_error of scikit-learn 1.2, without and with sample_weight.
TEST(MseMetric, AgreesWithScikitLearn) {
  MetricRows rows = four_rows();
  EXPECT_DOUBLE_EQ(value_of(numbers_of("mse", Shape{2}), rows), 13.9765625);
  rows.weights = four_weights();
  EXPECT_DOUBLE_EQ(value_of(numbers_of("mse", Shape{2}), rows), 23.290865384615387);
}

TEST(MseMetric, IsThatOfAllRows) {
  const auto accumulator = make_metric("mse")->accumulator();
  const MetricCase from = numbers_of("mse", Shape{1});
  add_rows(*accumulator, from, {{1, 2}, {0, 0}});
  add_rows(*accumulator, from, {{-7}, {0}});
  EXPECT_DOUBLE_EQ(accumulator->value(), 54.0 / 3);
}

TEST(MseMetric, AgreesWithItsFormulaInAnyBatches) {
  for (const Shape& row : {Shape{1}, Shape{2, 3}}) {
    check_metric(numbers_of("mse", row), drawn_numbers(8501, row.elements()), Joins::closely, Joins::closely,
                 [](const MetricRows& rows) { return mean_error(rows, [](double e) { return e * e; }); });
  }
}

TEST(MseMetric, ShowsNaN) { check_shows_nan("mse"); }

TEST(MseMetric, RejectsWhatItCannotJudge) { check_number_metric_rejects("mse"); }

}  // namespace
}  // namespace millrace::testing
