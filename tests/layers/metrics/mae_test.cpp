#include <gtest/gtest.h>

#include <cmath>

#include "tests/layers/metrics/regression_rows.h"

namespace millrace::testing {
namespace {

// sklearn.metrics.mean_absolute_error of scikit-learn 1.2, without and with sample_weight.
TEST(MaeMetric, AgreesWithScikitLearn) {
  MetricRows rows = four_rows();
  EXPECT_DOUBLE_EQ(value_of(numbers_of("mae", Shape{2}), rows), 2.34375);
  rows.weights = four_weights();
  EXPECT_DOUBLE_EQ(value_of(numbers_of("mae", Shape{2}), rows), 3.394230769230769);
}

TEST(MaeMetric, IsThatOfAllRows) {
  const auto accumulator = make_metric("mae")->accumulator();
  const MetricCase from = numbers_of("mae", Shape{1});
  add_rows(*accumulator, from, {{1, 2}, {0, 0}});
  add_rows(*accumulator, from, {{-7}, {0}});
  EXPECT_DOUBLE_EQ(accumulator->value(), 10.0 / 3);
}

TEST(MaeMetric, AgreesWithItsFormulaInAnyBatches) {
  for (const Shape& row : {Shape{1}, Shape{2, 3}}) {
    check_metric(numbers_of("mae", row), drawn_numbers(8501, row.elements()), Joins::closely, Joins::closely,
                 [](const MetricRows& rows) { return mean_error(rows, [](double e) { return std::abs(e); }); });
  }
}

TEST(MaeMetric, ShowsNaN) { check_shows_nan("mae"); }

TEST(MaeMetric, RejectsWhatItCannotJudge) { check_number_metric_rejects("mae"); }

}  // namespace
}  // namespace millrace::testing
