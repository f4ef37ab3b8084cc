#include <gtest/gtest.h>

#include <cmath>

#include "tests/layers/metrics/regression_rows.h"

namespace millrace::testing {
namespace {

double r2_of(const MetricRows& rows, const Shape& row = Shape{1}) { return value_of(numbers_of("r2", row), rows); }

// sklearn.metrics.r2_score(.., multioutput="variance_weighted") of scikit-learn 1.2, without and with sample_weight.
TEST(R2, AgreesWithScikitLearn) {
  MetricRows rows = four_rows();
  EXPECT_NEAR(r2_of(rows, Shape{2}), -1.662202380952381, 1e-14);
  rows.weights = four_weights();
  EXPECT_NEAR(r2_of(rows, Shape{2}), -3.4690959409594098, 1e-14);
  EXPECT_NEAR(r2_of({{2.5, 0, 2, 8}, {3, 2, 1, -1}}), -8.857142857142858, 1e-13);
}

TEST(R2, ByHand) {
  EXPECT_EQ(r2_of({{1, 2, 3}, {1, 2, 3}}), 1);
  // As good as the mean, and worse.
  EXPECT_EQ(r2_of({{2, 2, 2}, {1, 2, 3}}), 0);
  EXPECT_EQ(r2_of({{3, 2, 1}, {1, 2, 3}}), -3);
  EXPECT_EQ(r2_of({{1, 2, 9}, {1, 2, 3}, {1, 1, 0}}), 1);
}

TEST(R2, OfLabelsThatAreAllAlikeIsOneOrZero) {
  // 0.1 is no whole multiple of anything here: sums of it would leave a rest.
  for (const std::vector<double>& weights : {std::vector<double>{}, {0.3, 0.7, 1.1}}) {
    EXPECT_EQ(r2_of({{0.5, 0.1, 0.1}, {0.1, 0.1, 0.1}, weights}), 0);
    const double label = static_cast<double>(0.1F);
    EXPECT_EQ(r2_of({{label, label, label}, {0.1, 0.1, 0.1}, weights}), 1);
  }
  const auto accumulator = make_metric("r2")->accumulator();
  for (int batch = 0; batch < 3; ++batch) {
    add_rows(*accumulator, numbers_of("r2", Shape{1}), {{1, 2}, {0.1, 0.1}, {0.3, 0.7}});
  }
  EXPECT_EQ(accumulator->value(), 0);
}

TEST(R2, SeesSmallDeviationsOfLargeLabels) {
  // The squares of the labels need more bits than a double has.
  MetricRows rows;
  for (int i = 0; i < 1000; ++i) {
    rows.labels.push_back(16777000 + i % 3);
    rows.predictions.push_back(16777001);
  }
  // Around 16777000 the sum of the labels is 999, that of their squares 1665.
  const double deviations = 1665 - 999.0 * 999 / 1000, errors = 334 + 333;
  EXPECT_NEAR(r2_of(rows), 1 - errors / deviations, 1e-12);
}

// In two passes over the rows, with the means of the columns.
double in_two_passes(const MetricRows& rows, size_t columns) {
  double errors = 0, deviations = 0;
  const size_t count = rows.labels.size() / columns;
  for (size_t column = 0; column < columns; ++column) {
    double sum = 0, weight = 0;
    for (size_t row = 0; row < count; ++row) {
      sum += rows.weight(row) * rows.labels[row * columns + column];
      weight += rows.weight(row);
    }
    for (size_t row = 0; row < count; ++row) {
      const double label = rows.labels[row * columns + column];
      const double error = rows.predictions[row * columns + column] - label;
      errors += rows.weight(row) * error * error;
      deviations += rows.weight(row) * (label - sum / weight) * (label - sum / weight);
    }
  }
  return 1 - errors / deviations;
}

TEST(R2, AgreesWithItsFormulaInAnyBatches) {
  for (const Shape& row : {Shape{1}, Shape{2, 3}}) {
    MetricRows rows = drawn_numbers(8501, row.elements());
    // Far from 0, and each column elsewhere.
    for (size_t i = 0; i < rows.labels.size(); ++i) {
      const auto offset = static_cast<double>(1000 * (i % static_cast<size_t>(row.elements()) + 1));
      rows.labels[i] += offset;
      rows.predictions[i] += offset;
    }
    check_metric(numbers_of("r2", row), rows, Joins::closely, Joins::closely,
                 [&](const MetricRows& each) { return in_two_passes(each, static_cast<size_t>(row.elements())); });
  }
}

TEST(R2, ALabelThatDoesNotCountMayBeNaN) {
  EXPECT_EQ(r2_of({{1, 3, 2, 1}, {std::nan(""), 1, 2, 3}, {0, 1, 1, 1}}), -3);
}

TEST(R2, ALabelThatDoesNotCountMayBeHuge) {
  EXPECT_EQ(r2_of({{1, 3, 2, 1}, {1e20, 1, 2, 3}, {0, 1, 1, 1}}), -3);
  EXPECT_EQ(r2_of({{1, 1, 3, 2, 1}, {-1e30, 1e20, 1, 2, 3}, {0, 0, 1, 1, 1}}), -3);
  // Only one row counts.
  EXPECT_EQ(r2_of({{1, 0.25}, {-5.09381962, 0.0926619545}, {0, 1.80499232}}), 0);
  // No row counts.
  EXPECT_TRUE(std::isnan(r2_of({{1, 2}, {1e20, 1}, {0, 0}})));
}

TEST(R2, RefusesAChangedState) {
  const MetricCase from = numbers_of("r2", Shape{2});
  const MetricRows rows{{1, 2, 3, 4}, {2, 2, 3, 5}};
  const auto error = [&](double weight, const std::vector<double>& sums) {
    State state;
    state.set_real("weight", weight);
    state.set_reals("sums", sums);
    return restore_error(from, rows, state);
  };
  EXPECT_EQ(error(2, {2, 1, 0, 2.5, 3.5, 0.5, 4.5}), "no error");
  EXPECT_EQ(error(0, {}), "no error") << "nothing was added yet";
  EXPECT_EQ(error(2, {}), "the saved state of r2 has 0 sums, expected 3 and 2 a column");
  EXPECT_EQ(error(2, {2, 1}), "the saved state of r2 has 2 sums, expected 3 and 2 a column");
  EXPECT_EQ(error(2, {2, 1, 0, 3, 4, 5}), "the saved state of r2 has 6 sums, expected 3 and 2 a column");
  EXPECT_EQ(error(2, {2, 1, 0, 2.5, 0.5}), "the saved state of r2 has 1 columns, the model has 2");
}

TEST(R2, ShowsNaN) { check_shows_nan("r2"); }

TEST(R2, RejectsWhatItCannotJudge) { check_number_metric_rejects("r2"); }

}  // namespace
}  // namespace millrace::testing
