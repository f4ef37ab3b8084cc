#include "millrace/cli/report/evaluation_text.h"

#include <gtest/gtest.h>

#include <limits>

#include "millrace/trainer/config/catalog.h"

namespace millrace::cli {
namespace {

TEST(EvaluationTextTest, SaysRowsLossAndMetrics) {
  EXPECT_EQ(
      evaluation_text(
          {.rows = 1000, .files = 4, .loss = 0.431234, .metrics = {{"accuracy", 0.81}, {"auc", 0.9}}, .seconds = 0.5}),
      "1000 rows of 4 files in 0.500 s (2000 rows/s)\nloss 0.4312  accuracy 0.81  auc 0.9\n");
  EXPECT_EQ(evaluation_text({.rows = 1, .files = 1, .loss = std::numeric_limits<double>::quiet_NaN()}),
            "1 row of 1 file in 0.000 s\nloss nan\n");
  EXPECT_EQ(evaluation_text({.rows = 3, .loss = 0.5}), "3 rows in 0.000 s\nloss 0.5\n");
}

TEST(EvaluationTextTest, TheEventHasEveryDigit) {
  EXPECT_EQ(evaluation_event(
                {.rows = 1000, .files = 4, .loss = 0.4312345678901, .metrics = {{"accuracy", 0.81}}, .seconds = 0.5}),
            "{\"v\":1,\"event\":\"evaluation\",\"rows\":1000,\"loss\":0.4312345678901,"
            "\"metrics\":{\"accuracy\":0.81},\"seconds\":0.5}\n");
  EXPECT_EQ(evaluation_event({.loss = std::numeric_limits<double>::quiet_NaN()}),
            "{\"v\":1,\"event\":\"evaluation\",\"rows\":0,\"loss\":\"NaN\",\"metrics\":{},\"seconds\":0}\n");
}

TEST(EvaluationTextTest, MetricsOfTheLabelsUnitAreGivenInItToo) {
  const Catalog catalog = Catalog::builtin();
  std::vector<NamedMetric> kinds;
  MetricValues values;
  for (const char* kind : {"mae", "rmse", "mse", "r2"}) {
    kinds.push_back(
        {kind, catalog.layers.metrics.make(catalog.layers.metrics.read(Spec::of(kind), "a metric"), Spec::of(kind))});
    values.emplace_back(kind, 0.5);
  }
  const FieldHistory label = {.field = "price", .scale = {-100}, .offset = {7}};
  const MetricValues expected = {{"mae", 50}, {"rmse", 50}, {"mse", 5000}};
  EXPECT_EQ(in_label_unit(values, kinds, label), expected);
  EXPECT_TRUE(in_label_unit(values, kinds, {.field = "price"}).empty());
  EXPECT_TRUE(in_label_unit(values, kinds, {.field = "price", .scale = {2}, .complete = false}).empty());
  const EvaluationResult result{.rows = 1, .files = 1, .metrics = {{"mae", 0.5}}, .in_label_unit = {{"mae", 50}}};
  EXPECT_EQ(evaluation_text(result), "1 row of 1 file in 0.000 s\nloss 0  mae 0.5\nin the label's own unit: mae 50\n");
  EXPECT_NE(evaluation_event(result).find("\"metrics\":{\"mae\":0.5},\"label_unit\":{\"mae\":50}"), std::string::npos);
}

TEST(EvaluationTextTest, SaysWhereAnAccuracyIsThatOfTheCommonestClass) {
  const auto text = [](double accuracy) {
    return evaluation_text(
        {.rows = 8, .files = 1, .loss = 0.5, .metrics = {{"accuracy", accuracy}}, .commonest_class = 0.75});
  };
  EXPECT_TRUE(text(0.75).ends_with(
      "accuracy 0.75\nthe accuracy is no better than always naming the commonest class, which 75% of the rows have\n"))
      << text(0.75);
  EXPECT_TRUE(text(0.875).ends_with("accuracy 0.875\n"));
  const std::string event = evaluation_event({.metrics = {{"accuracy", 1}}, .commonest_class = 0.75});
  EXPECT_NE(event.find("\"metrics\":{\"accuracy\":1},\"commonest_class\":0.75,"), std::string::npos) << event;
}

}  // namespace
}  // namespace millrace::cli
