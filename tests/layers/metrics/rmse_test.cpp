#include <gtest/gtest.h>

#include <cmath>

#include "tests/layers/metrics/regression_rows.h"

namespace millrace::testing {
namespace {

// The root of sklearn.metrics.mean_squared_error of scikit-learn 1.2 (its own rmse takes the root of each column).
TEST(Rmse, AgreesWithScikitLearn) {
  MetricRows rows = four_rows();
  EXPECT_DOUBLE_EQ(value_of(numbers_of("rmse", Shape{2}), rows), 3.738524107184545);
  rows.weights = four_weights();
  EXPECT_DOUBLE_EQ(value_of(numbers_of("rmse", Shape{2}), rows), 4.8260610630839915);
}

TEST(Rmse, IsThatOfAllRows) {
  const auto accumulator = make_metric("rmse")->accumulator();
  const MetricCase from = numbers_of("rmse", Shape{1});
  add_rows(*accumulator, from, {{1, 2}, {0, 0}});
  add_rows(*accumulator, from, {{-7}, {0}});
  EXPECT_DOUBLE_EQ(accumulator->value(), std::sqrt(54.0 / 3));
}

TEST(Rmse, AgreesWithItsFormulaInAnyBatches) {
  for (const Shape& row : {Shape{1}, Shape{2, 3}}) {
    check_metric(numbers_of("rmse", row), drawn_numbers(8501, row.elements()), Joins::closely, Joins::closely,
                 [](const MetricRows& rows) { return std::sqrt(mean_error(rows, [](double e) { return e * e; })); });
  }
}

TEST(Rmse, ShowsNaN) { check_shows_nan("rmse"); }

TEST(Rmse, RejectsWhatItCannotJudge) { check_number_metric_rejects("rmse"); }

}  // namespace
}  // namespace millrace::testing
