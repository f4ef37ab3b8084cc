#include "millrace/api/c/metric.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "millrace/core/errors.h"
#include "tests/api/c_calls.h"

namespace millrace::c {
namespace {

// The weighted share of rows whose prediction has the sign that the label asks for.
double right_sign(void* user, const millrace_judged* judged) {
  EXPECT_EQ(judged->outputs, 1);
  EXPECT_EQ(judged->labels_of_a_row, 1);
  static_cast<std::vector<int64_t>*>(user)->push_back(judged->rows);
  double right = 0, all = 0;
  for (int64_t row = 0; row < judged->rows; ++row) {
    const double weight = judged->weights != nullptr ? judged->weights[row] : 1;
    if ((judged->predictions[row] > 0) == (judged->labels[row] > 0.5)) right += weight;
    all += weight;
  }
  return right / all;
}

constexpr auto kInput = R"(
device: cpu
seed: 1
input:
  - synthetic: {features: 4, rows: 90}
  - batch: {batch_size: 40, allow_smaller_final_batch: true}
model: [dense: {units: 1}]
loss: sigmoid_cross_entropy
metrics: [accuracy, mine]
optimizer: {sgd: {learning_rate: 0.5}}
)";

class CMetric : public ::testing::Test {
 protected:
  CMetric() {
    EXPECT_DONE(millrace_catalog_new(&catalog_, &error));
    EXPECT_DONE(millrace_catalog_add_metric(catalog_, "mine", 0, right_sign, &rows_, &error));
  }
  ~CMetric() override {
    millrace_trainer_free(trainer_);
    millrace_catalog_free(catalog_);
  }
  void run(const std::string& config) {
    EXPECT_DONE(millrace_trainer_from_string(config.c_str(), "m.yaml", nullptr, 0, catalog_, &trainer_, &error));
    EXPECT_DONE(millrace_trainer_run(trainer_, nullptr, nullptr, &error));
  }

  millrace_catalog* catalog_ = nullptr;
  millrace_trainer* trainer_ = nullptr;
  std::vector<int64_t> rows_;
};

TEST_F(CMetric, JudgesTheRowsOfAReport) {
  run(std::string(kInput) + "train: {report_over: window}\n");
  EXPECT_EQ(rows_.back(), 90);
  millrace_score accuracy = {}, mine = {};
  ASSERT_EQ(millrace_trainer_score(trainer_, 0, &accuracy), 1);
  ASSERT_EQ(millrace_trainer_score(trainer_, 1, &mine), 1);
  EXPECT_EQ(millrace_trainer_score(trainer_, 2, &mine), 0);
  EXPECT_STREQ(mine.name, "mine");
  EXPECT_DOUBLE_EQ(mine.value, accuracy.value);
}

TEST_F(CMetric, JudgesAValidationAndKeepsTheBest) {
  run(std::string(kInput) + R"(
validation: {input: [synthetic: {features: 4, rows: 70}, batch: {batch_size: 32}], every: 1, keep_best: mine}
)");
  EXPECT_EQ(std::count(rows_.begin(), rows_.end(), 70), 3);
}

TEST_F(CMetric, CountsRowsByTheirWeights) {
  const float features[] = {1, 1, 1, 1}, label[] = {1, 1, 1, 0}, weight[] = {1, 0, 2, 5};
  const void* const values[] = {features, label, weight};
  const millrace_field fields[] = {
      {"features", MILLRACE_FLOAT32, 1}, {"label", MILLRACE_FLOAT32, 1}, {"w", MILLRACE_FLOAT32, 1}};
  EXPECT_DONE(millrace_catalog_add_rows(catalog_, "rows", fields, 3, 4, values, &error));
  run(R"(
device: cpu
input: [rows: {epochs: 1}, batch: {batch_size: 4}]
model: [dense: {units: 1}]
loss: {sigmoid_cross_entropy: {weight: w}}
metrics: [accuracy, mine]
optimizer: {sgd: {learning_rate: 0.5}}
)");
  millrace_score accuracy = {}, mine = {};
  millrace_trainer_score(trainer_, 0, &accuracy);
  millrace_trainer_score(trainer_, 1, &mine);
  EXPECT_DOUBLE_EQ(mine.value, accuracy.value);
}

TEST_F(CMetric, NamesAndFunctionsAreChecked) {
  millrace_error* error = nullptr;
  EXPECT_EQ(millrace_catalog_add_metric(catalog_, "a b", 0, right_sign, nullptr, &error), MILLRACE_ERROR_ARGUMENT);
  EXPECT_EQ(text_of(error), "a configuration could not name the metric \"a b\"");
  EXPECT_EQ(millrace_catalog_add_metric(catalog_, "m", 0, nullptr, nullptr, &error), MILLRACE_ERROR_ARGUMENT);
  EXPECT_EQ(text_of(error), "metric is NULL");
  EXPECT_EQ(millrace_catalog_add_metric(catalog_, "mine", 0, right_sign, nullptr, &error), MILLRACE_ERROR_CONFIG);
  EXPECT_EQ(text_of(error), "the metric mine is registered twice");
}

TEST_F(CMetric, GoesOnFromItsState) {
  const MetricRegistry::Entry entry = metric_entry({"mine", false, right_sign, &rows_});
  const auto metric = entry.make(Spec::map(), nullptr);
  const double batch[] = {1, 1, 1, /* predictions */ 2, -1, /* labels */ 1, 1, /* weights */ 3, 1};
  const auto first = metric->accumulator(), second = metric->accumulator();
  EXPECT_TRUE(std::isnan(first->value()));
  first->add(std::as_bytes(std::span(batch)), 2);
  EXPECT_DOUBLE_EQ(first->value(), 0.75);
  State state;
  first->save(state);
  second->restore(state);
  second->add(std::as_bytes(std::span(batch)), 2);
  EXPECT_EQ(rows_.back(), 2);
  EXPECT_DOUBLE_EQ(second->value(), 0.75);
  EXPECT_EQ(rows_.back(), 4);
  state.set("rows", 5);
  EXPECT_THROW(second->restore(state), DataError);
}

}  // namespace
}  // namespace millrace::c
