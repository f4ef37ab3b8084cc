#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "millrace/core/random.h"
#include "tests/layers/metrics/metric_run.h"

namespace millrace::testing {
namespace {

MetricCase auc(DType label = DType::f32) {
  return {.kind = "auc", .prediction = {Shape{1}, DType::f32}, .label = {Shape{1}, label}};
}

// sklearn.metrics.roc_auc_score of scikit-learn 1.2, without and with sample_weight.
TEST(Auc, AgreesWithScikitLearn) {
  MetricRows rows{{-1, 0.5, 0.5, 2, -0.25, 0.5, 0.5, -2, 3, 2}, {0, 0, 1, 1, 1, 0, 1, 0, 1, 0}};
  EXPECT_DOUBLE_EQ(value_of(auc(), rows), 0.7);
  rows.weights = {1, 2, 0.5, 1.5, 1, 0.25, 3, 1, 2, 0.75};
  EXPECT_DOUBLE_EQ(value_of(auc(), rows), 0.746875);
}

TEST(Auc, ByHand) {
  EXPECT_EQ(value_of(auc(), {{1, 2, 3, 4}, {0, 0, 1, 1}}), 1);
  EXPECT_EQ(value_of(auc(), {{4, 3, 2, 1}, {0, 0, 1, 1}}), 0);
  EXPECT_EQ(value_of(auc(), {{1, 1, 1}, {0, 1, 0}}), 0.5);
  EXPECT_EQ(value_of(auc(), {{0, -0.0}, {0, 1}}), 0.5);
  EXPECT_EQ(value_of(auc(), {{1, 3, 2, 4}, {0, 0, 1, 1}}), 0.75);
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(value_of(auc(), {{-infinity, infinity, infinity}, {0, 0, 1}}), 0.75);
  // A label is yes from above 0.5.
  EXPECT_EQ(value_of(auc(), {{1, 2, 3}, {0.5, 0.75, 1}}), 1);
}

TEST(Auc, IsNoNumberWithoutBothLabels) {
  EXPECT_TRUE(std::isnan(value_of(auc(), {{1, 2}, {1, 1}})));
  EXPECT_TRUE(std::isnan(value_of(auc(), {{1, 2}, {0, 0}})));
  EXPECT_TRUE(std::isnan(value_of(auc(), {{1, 2}, {0, 1}, {1, 0}})));
}

TEST(Auc, NaNIsNeverRight) {
  const double nan = std::nan(""), infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(value_of(auc(), {{nan, -infinity}, {1, 0}}), 0);
  EXPECT_EQ(value_of(auc(), {{nan, infinity}, {0, 1}}), 0);
  EXPECT_EQ(value_of(auc(), {{nan, nan}, {0, 1}}), 0);
  EXPECT_EQ(value_of(auc(), {{nan, 1, nan, 2}, {0, 0, 1, 1}}), 0.25);
}

// Every pair of a positive and a negative row.
double by_pairs(const MetricRows& rows) {
  double won = 0, pairs = 0;
  for (size_t i = 0; i < rows.labels.size(); ++i) {
    for (size_t j = 0; j < rows.labels.size(); ++j) {
      if (rows.labels[i] <= 0.5 || rows.labels[j] > 0.5) continue;
      const double weight = rows.weight(i) * rows.weight(j);
      const double positive = rows.predictions[i], negative = rows.predictions[j];
      won += positive > negative ? weight : (positive == negative ? weight / 2 : 0);
      pairs += weight;
    }
  }
  return won / pairs;
}

TEST(Auc, AgreesWithItsFormulaInAnyBatches) {
  constexpr int64_t batch = 1501;
  for (const DType label : {DType::f32, DType::i32, DType::i64}) {
    MetricRows rows{draws_with_ties("score", batch, -3, 3), drawn_classes("label", batch, 2)};
    for (size_t i = 0; i < rows.labels.size(); ++i) rows.predictions[i] += rows.labels[i];
    check_metric(auc(label), rows, Joins::exactly, Joins::exactly, by_pairs);
  }
}

TEST(Auc, GivesTheSameBitsOnAnyNumberOfThreads) {
  constexpr int64_t batch = 40001;
  check_metric_threads(auc(), {draws("score", batch), drawn_classes("label", batch, 2), drawn_weights(batch)});
}

TEST(Auc, KeepsEightBytesARow) {
  const MetricRows rows{draws("score", 10), drawn_classes("label", 10, 2)};
  EXPECT_EQ(partial_of(auc(), rows).size(), 80U);
}

// Of rows as drawn below: the exact area, by sorting.
double area_of(std::vector<std::pair<float, bool>> rows) {
  std::sort(rows.begin(), rows.end());
  double won = 0, negatives = 0, positives = 0;
  for (size_t i = 0; i < rows.size();) {
    double tied[2] = {0, 0};
    for (const float score = rows[i].first; i < rows.size() && rows[i].first == score; ++i) ++tied[rows[i].second];
    won += tied[1] * (negatives + tied[0] / 2);
    negatives += tied[0];
    positives += tied[1];
  }
  return won / (negatives * positives);
}

TEST(Auc, BoundsItsMemoryHoweverManyRowsCome) {
  constexpr size_t kRows = 1500000, kExact = 1048576;
  MetricRows values;
  std::vector<std::pair<float, bool>> rows;
  for (size_t i = 0; i < kRows; ++i) {
    const bool positive = philox64(7, 1, i) % 3 == 0;
    const double uniform = to_unit(philox64(7, 2, i)) + to_unit(philox64(7, 3, i)) - 1;
    const auto score = static_cast<float>(uniform * 4 + (positive ? 1 : 0));
    values.predictions.push_back(static_cast<double>(score));
    values.labels.push_back(positive ? 1 : 0);
    rows.emplace_back(score, positive);
  }
  const std::vector<std::byte> partial = partial_of(auc(), values);
  const auto add = [&](MetricAccumulator& to, size_t begin, size_t end) {
    to.add(std::span(partial).subspan(8 * begin, 8 * (end - begin)), static_cast<int64_t>(end - begin));
  };
  const auto accumulator = make_metric("auc")->accumulator();
  add(*accumulator, 0, kExact);
  EXPECT_NEAR(accumulator->value(), area_of({rows.begin(), rows.begin() + kExact}), 1e-12) << "exact up to here";
  add(*accumulator, kExact, kRows);
  const double all = accumulator->value();
  EXPECT_NEAR(all, area_of(rows), 1e-5);
  EXPECT_NE(all, area_of(rows)) << "bins are not exact";
  accumulator->reset();
  for (size_t begin = 0; begin < kRows; begin += 70001) add(*accumulator, begin, std::min(begin + 70001, kRows));
  EXPECT_EQ(accumulator->value(), all) << "the same bits, however the rows are cut into batches";
  const auto heir = restored(*accumulator, auc());
  EXPECT_EQ(heir->value(), all) << "from a saved state";
  add(*heir, 0, 70001);
  add(*accumulator, 0, 70001);
  EXPECT_EQ(heir->value(), accumulator->value());
  EXPECT_EQ(accumulator->bytes(1000), 8000U);
  EXPECT_EQ(accumulator->bytes(INT64_MAX), accumulator->bytes(kRows));
  EXPECT_LT(accumulator->bytes(INT64_MAX), size_t{13} << 20);
  accumulator->reset();
  add(*accumulator, 0, 1000);
  EXPECT_NEAR(accumulator->value(), area_of({rows.begin(), rows.begin() + 1000}), 1e-12) << "exact again";
}

TEST(Auc, RefusesAChangedState) {
  const MetricRows rows{{1, 2}, {0, 1}};
  const auto error = [&](size_t kept, size_t bins) {
    State state;
    state.set("rows", std::vector<uint64_t>(kept, uint64_t{0x8000000180000001}));
    state.set_reals("bins", std::vector<double>(2 * bins, 1.0));
    return restore_error(auc(), rows, state);
  };
  constexpr size_t kMostRows = size_t{1} << 20, kBins = (size_t{1} << 18) + 2;
  EXPECT_EQ(error(3, 0), "no error");
  EXPECT_EQ(error(0, kBins), "no error");
  const std::string hint = "; it has at most 1048576 rows, or 262146 bins";
  EXPECT_EQ(error(kMostRows + 1, 0), "the saved state of auc has 1048577 rows and 0 bins" + hint);
  EXPECT_EQ(error(0, kBins - 1), "the saved state of auc has 0 rows and 262145 bins" + hint);
  EXPECT_EQ(error(1, kBins), "the saved state of auc has 1 rows and 262146 bins" + hint);
}

TEST(Auc, RejectsWhatItCannotJudge) {
  const std::string hint = "; it takes one logit and one label per row";
  EXPECT_EQ(check_error("auc", {Shape{2}, DType::f32}, {Shape{1}, DType::i32}),
            "auc does not fit the prediction float32 (2) and the label int32 (1)" + hint);
  EXPECT_EQ(check_error("auc", {Shape{1}, DType::f32}, {Shape{2}, DType::f32}),
            "auc does not fit the prediction float32 (1) and the label float32 (2)" + hint);
  EXPECT_EQ(check_error("auc", {Shape{1}, DType::i32}, {Shape{1}, DType::f32}),
            "expected float32 values, got int32 (1)");
  EXPECT_EQ(plan_error("auc"), "auc reads float32, int32 or int64 labels, got float64 (4, 1)");
}

}  // namespace
}  // namespace millrace::testing
