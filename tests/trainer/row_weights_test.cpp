// Row weights in whole trainings, validations and evaluations: what a row of weight 0 may hold, and what is said where
// no row counts.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "millrace/layers/model/model.h"
#include "millrace/trainer/config/config.h"
#include "millrace/trainer/config/overrides.h"
#include "millrace/trainer/files/yaml.h"
#include "millrace/trainer/predict/network.h"
#include "millrace/trainer/trainer.h"
#include "tests/support/temp_folder.h"

namespace millrace {
namespace {

constexpr int64_t kBatch = 4;

struct Row {
  double x[2];
  std::string label;
  double weight;
};

// Rows of two features, a label and a weight, in batches of 4. Of the second batch no row counts.
class RowWeights : public ::testing::Test {
 protected:
  RowWeights() {
    for (int i = 0; i < 16; ++i) {
      const double weight = i / kBatch == 1 || i % 5 == 4 ? 0 : 0.25 * (i % 3 + 1);
      rows_.push_back({{0.5 * (i % 4) - 1, 0.25 * (i % 7) - 0.5}, cat(i % 3 % 2), weight});
    }
  }

  std::string write(const std::string& name, const std::vector<Row>& rows) const {
    std::string text;
    for (const Row& row : rows) text += cat(row.x[0], ',', row.x[1], ',', row.label, ',', row.weight, '\n');
    return folder_.write(name, text);
  }
  static std::string input(const std::string& path) {
    return cat("[{filename_queue: {files: ", quote(path, 4096),
               ", epochs: 1}}, csv_reader, {decode_csv: {fields: {features: {columns: 0-1}, label: {columns: 2}, w: "
               "{columns: 3}}}}, {batch: {batch_size: 4}}]");
  }
  Trainer trainer(const std::string& path, const std::vector<std::string>& overrides = {}) const {
    Spec config = parse_yaml(cat("device: cpu\nthreads: 2\ninput: ", input(path),
                                 "\nmodel: [{dense: {units: 1}}]\nloss: {mse: {weight: w}}\nmetrics: [mae]\n"
                                 "optimizer: {sgd: {learning_rate: 0.1}}\ntrain: {log_every: 1}\n"),
                             "t.yaml");
    apply_overrides(config, overrides);
    return Trainer::from_spec(std::move(config));
  }
  TrainCallbacks listening() {
    TrainCallbacks callbacks;
    callbacks.on_step = [this](const StepReport& report) { reports_.push_back(report); };
    callbacks.on_validation = [this](const ValidationReport& report) { validations_.push_back(report); };
    callbacks.on_log = [this](std::string_view text) { log_.emplace_back(text); };
    return callbacks;
  }
  // Both weights, then the bias.
  static std::vector<double> parameters_of(Trainer& trainer) {
    const float *weight = trainer.model().parameter(0).as<float>(), *bias = trainer.model().parameter(1).as<float>();
    return {static_cast<double>(weight[0]), static_cast<double>(weight[1]), static_cast<double>(bias[0])};
  }
  std::string error_of(const std::string& path, const std::vector<std::string>& overrides = {}) const {
    try {
      trainer(path, overrides).run();
    } catch (const DataError& error) {
      return error.message();
    }
    return "no error";
  }

  TempFolder folder_;
  std::vector<Row> rows_;
  std::vector<StepReport> reports_;
  std::vector<ValidationReport> validations_;
  std::vector<std::string> log_;
};

// The same training in double: weighted squared errors of a linear model, one update a batch. `losses` receives the
// batches' losses; of a batch without a row that counts it receives none.
std::vector<double> by_hand(const std::vector<Row>& rows, std::vector<double> parameters,
                            std::vector<std::optional<double>>& losses) {
  for (size_t begin = 0; begin < rows.size(); begin += kBatch) {
    double weight = 0, loss = 0;
    std::array<double, 3> gradient{};
    for (size_t i = begin; i < begin + kBatch; ++i) {
      const Row& row = rows[i];
      const double x[] = {row.x[0], row.x[1], 1};
      double error = -std::stod(row.label);
      for (size_t k = 0; k < 3; ++k) error += parameters[k] * x[k];
      weight += row.weight;
      loss += row.weight * error * error;
      for (size_t k = 0; k < 3; ++k) gradient[k] += row.weight * 2 * error * x[k];
    }
    losses.emplace_back(weight > 0 ? std::optional(loss / weight) : std::nullopt);
    for (size_t k = 0; k < 3 && weight > 0; ++k) parameters[k] -= 0.1 * gradient[k] / weight;
  }
  return parameters;
}

TEST_F(RowWeights, ABatchWithoutARowThatCountsHasNoLossAndTeachesNothing) {
  const std::string path = write("all.csv", rows_);
  Trainer untrained = trainer(path);
  std::vector<std::optional<double>> losses;
  const std::vector<double> expected = by_hand(rows_, parameters_of(untrained), losses);
  ASSERT_EQ(losses.size(), 4u);
  ASSERT_FALSE(losses[1].has_value());
  for (const char* rule : {"warn", "fail", "skip"}) {
    for (const char* over : {"batch", "window"}) {
      reports_.clear();
      Trainer training = trainer(path, {cat("train.on_nonfinite=", rule), cat("train.report_over=", over)});
      const TrainResult result = training.run(listening());
      EXPECT_EQ(result.skipped_steps, 0) << rule;
      EXPECT_EQ(log_, std::vector<std::string>{}) << rule;
      ASSERT_EQ(reports_.size(), 4u);
      for (size_t i = 0; i < 4; ++i) {
        if (losses[i]) {
          EXPECT_NEAR(reports_[i].loss, *losses[i], 1e-6) << rule << over << i;
          EXPECT_TRUE(std::isfinite(reports_[i].metrics[0].second)) << rule << over << i;
        } else {
          EXPECT_TRUE(std::isnan(reports_[i].loss)) << rule << over;
          EXPECT_TRUE(std::isnan(reports_[i].metrics[0].second)) << rule << over;
        }
      }
      const std::vector<double> actual = parameters_of(training);
      for (size_t k = 0; k < 3; ++k) EXPECT_NEAR(actual[k], expected[k], 1e-6) << rule << over << k;
    }
  }
}

TEST_F(RowWeights, OnlyTheirRatiosMatterUpToTheEndsOfTheirRange) {
  for (const char* accumulate : {"train.accumulate=1", "train.accumulate=2"}) {
    Trainer usual = trainer(write("usual.csv", rows_), {accumulate});
    const double loss = usual.run().loss;
    const std::vector<double> expected = parameters_of(usual);
    for (const double factor : {4e-20, 1e20}) {
      std::vector<Row> scaled = rows_;
      for (Row& row : scaled) row.weight *= factor;
      Trainer training = trainer(write("scaled.csv", scaled), {accumulate});
      EXPECT_NEAR(training.run().loss, loss, 1e-6) << accumulate << factor;
      const std::vector<double> actual = parameters_of(training);
      for (size_t k = 0; k < 3; ++k) EXPECT_NEAR(actual[k], expected[k], 1e-6) << accumulate << factor;
    }
  }
  // Beyond them, sums and quotients of weights would leave what a float can hold.
  rows_[15].weight = 1e-40;
  EXPECT_NE(error_of(write("tiny.csv", rows_)).find(", expected 0 or a number from 1e-20 to 1e+20"), std::string::npos);
  rows_[15].weight = 3e38;
  EXPECT_NE(error_of(write("huge.csv", rows_)).find(", expected 0 or a number from 1e-20 to 1e+20"), std::string::npos);
}

TEST_F(RowWeights, AWindowIsOverTheRowsThatCount) {
  std::vector<std::optional<double>> losses;
  Trainer training = trainer(write("all.csv", rows_), {"train.report_over=window", "train.log_every=2"});
  by_hand(rows_, parameters_of(training), losses);
  training.run(listening());
  ASSERT_EQ(reports_.size(), 2u);
  EXPECT_NEAR(reports_[0].loss, *losses[0], 1e-6) << "of the first batch alone";
}

TEST_F(RowWeights, AValidationAndAnEvaluationWithoutARowThatCountsHaveNoLoss) {
  const std::string path = write("all.csv", rows_), model = folder_.path("m.safetensors");
  const std::string none = write("none.csv", {rows_.begin() + 4, rows_.begin() + 8});
  trainer(path, {cat("validation.files=", quote(none, 4096)), cat("save=", quote(model, 4096))}).run(listening());
  ASSERT_EQ(validations_.size(), 1u);
  EXPECT_EQ(validations_[0].rows, 4u);
  EXPECT_TRUE(std::isnan(validations_[0].loss));
  EXPECT_TRUE(std::isnan(validations_[0].metrics[0].second));
  EXPECT_FALSE(validations_[0].best);

  Predictor judge({.model = model, .data = {none}, .judge = true});
  while (judge.next() != nullptr) {
  }
  EXPECT_EQ(judge.rows(), 4u);
  EXPECT_TRUE(std::isnan(judge.loss()));
  EXPECT_TRUE(std::isnan(judge.metrics()[0].second));
}

// Neither a label out of the range nor one that is no number, whichever kind of label the loss reads.
TEST_F(RowWeights, TheLabelOfARowOfWeightZeroIsNotJudged) {
  const std::vector<std::pair<std::string, std::vector<std::string>>> losses = {
      {"mse", {"nan", "inf"}},
      {"sigmoid_cross_entropy", {"7", "-1", "nan"}},
      {"hinge", {"2", "0.5", "nan", "1e30"}},
      {"softmax_cross_entropy", {"2", "-1", "0.5", "nan"}}};
  const std::string sound = write("sound.csv", rows_);
  for (const auto& [loss, labels] : losses) {
    const std::string metric = loss == "mse" ? "[mae, r2]" : "[accuracy, f1]";
    const std::vector<std::string> overrides = {cat("loss={", loss, ": {weight: w}}"), cat("metrics=", metric),
                                                loss == "softmax_cross_entropy" ? "model.dense.units=2" : "seed=3"};
    const std::string weights = trainer(sound, overrides).run(listening()).weights;
    const std::vector<StepReport> expected = std::exchange(reports_, {});
    for (const std::string& label : labels) {
      std::vector<Row> odd = rows_;
      for (Row& row : odd) {
        if (row.weight == 0) row.label = label;
      }
      const std::string path = write("odd.csv", odd);
      EXPECT_EQ(trainer(path, overrides).run(listening()).weights, weights) << loss << ' ' << label;
      ASSERT_EQ(reports_.size(), expected.size());
      for (size_t i = 0; i < expected.size(); ++i) {
        if (i == 1) continue;  // no row counts
        EXPECT_EQ(reports_[i].loss, expected[i].loss) << loss << ' ' << label;
        EXPECT_EQ(reports_[i].metrics, expected[i].metrics) << loss << ' ' << label;
      }
      reports_.clear();
      // Of a row that counts it is an error, and so it is without weights.
      odd[15].weight = 1e-20;
      odd[15].label = label;
      EXPECT_NE(error_of(write("wrong.csv", odd), overrides).find("the field label holds "), std::string::npos)
          << loss << ' ' << label;
      EXPECT_NE(error_of(path, {overrides[1], overrides[2], cat("loss=", loss)}).find("the field label holds "),
                std::string::npos)
          << loss << ' ' << label;
    }
  }
}

TEST_F(RowWeights, ValidationsAndEvaluationsDoNotJudgeItEither) {
  std::vector<Row> odd = rows_;
  for (Row& row : odd) {
    if (row.weight == 0) row.label = "nan";
  }
  const std::string sound = write("sound.csv", rows_), other = write("odd.csv", odd);
  const std::string model = folder_.path("m.safetensors");
  for (const std::string& path : {sound, other}) {
    trainer(sound, {cat("validation.files=", quote(path, 4096)), cat("save=", quote(model, 4096))}).run(listening());
  }
  ASSERT_EQ(validations_.size(), 2u);
  EXPECT_TRUE(std::isfinite(validations_[0].loss));
  EXPECT_EQ(validations_[1].loss, validations_[0].loss);
  EXPECT_EQ(validations_[1].metrics, validations_[0].metrics);
  Predictor judge({.model = model, .data = {other}, .judge = true});
  while (judge.next() != nullptr) {
  }
  EXPECT_EQ(judge.loss(), validations_[0].loss);
}

}  // namespace
}  // namespace millrace
