// Whole trainings from configurations against PyTorch: tests/golden/make_trainings.py and make_images.py make the
// numbers.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "millrace/core/text.h"
#include "millrace/layers/model/model.h"
#include "millrace/trainer/trainer.h"
#include "tests/support/paths.h"

namespace millrace {
namespace {

std::string path_of(const std::string& name) { return test::source_dir() + "/tests/golden/trainings/" + name; }

Trainer trainer_of(const std::string& name, std::vector<std::string> overrides = {}) {
  const char* rows = name == "lenet" || name == "mobile" || name == "residual_cnn" ? "images.csv" : "rows.csv";
  overrides.push_back("input.filename_queue.files=" + quote(path_of(rows), 4096));
  return Trainer::from_file(path_of(name + ".yaml"), overrides);
}

std::vector<double> values_of(TensorView view) {
  std::vector<double> out;
  for (int64_t i = 0; i < view.elements(); ++i) out.push_back(static_cast<double>(view.as<float>()[i]));
  return out;
}

// Relative, but no finer than a float's rounding of numbers about 0.05: means of normalised values are sums that
// cancel.
void expect_close(double actual, double expected, double tolerance, const std::string& what) {
  EXPECT_NEAR(actual, expected, tolerance * std::max(std::abs(expected), 5e-2)) << what;
}

class GoldenTraining : public ::testing::TestWithParam<const char*> {};

TEST_P(GoldenTraining, GoesAsInPyTorch) {
  std::ifstream file(path_of(cat(GetParam(), ".json")));
  const nlohmann::json expected = nlohmann::json::parse(file);
  Trainer trainer = trainer_of(GetParam(), {"train.log_every=1"});
  std::vector<double> losses;
  TrainCallbacks callbacks;
  callbacks.on_step = [&](const StepReport& report) { losses.push_back(report.loss); };
  trainer.run(callbacks);
  ASSERT_EQ(losses.size(), expected["losses"].size());
  for (size_t step = 0; step < losses.size(); ++step) {
    expect_close(losses[step], expected["losses"][step], 1e-4, cat("loss of step ", step));
  }
  ASSERT_EQ(trainer.model().parameters().size(), expected["parameters"].size());
  for (size_t i = 0; i < trainer.model().parameters().size(); ++i) {
    const std::string& name = trainer.model().parameters()[i].name;
    const nlohmann::json& wanted = expected["parameters"][name];
    const std::vector<double> actual = values_of(trainer.model().parameter(i));
    ASSERT_EQ(actual.size(), wanted.size()) << name;
    for (size_t k = 0; k < actual.size(); ++k) expect_close(actual[k], wanted[k], 1e-4, cat(name, ' ', k));
  }
  for (size_t i = 0; i < trainer.model().states().size(); ++i) {
    const std::string& name = trainer.model().states()[i].name;
    const nlohmann::json& wanted = expected["state"][name];
    const std::vector<double> actual = values_of(trainer.model().state(i));
    ASSERT_EQ(actual.size(), wanted.size()) << name;
    for (size_t k = 0; k < actual.size(); ++k) expect_close(actual[k], wanted[k], 1e-4, cat(name, ' ', k));
  }
}

// The losses of a training whose dropout layer is called `name`.
std::vector<double> dropout_losses(const std::string& name, const std::string& rate) {
  Trainer trainer =
      trainer_of("dropout", {"train.log_every=1", "model.dropout.name=" + name, "model.dropout.rate=" + rate});
  std::vector<double> losses;
  TrainCallbacks callbacks;
  callbacks.on_step = [&](const StepReport& report) { losses.push_back(report.loss); };
  trainer.run(callbacks);
  return losses;
}

TEST(GoldenDropout, SpreadsAsInPyTorch) {
  std::ifstream file(path_of("dropout.json"));
  const nlohmann::json expected = nlohmann::json::parse(file);
  constexpr int kRuns = 200;
  double sum = 0, squares = 0;
  for (int run = 0; run < kRuns; ++run) {
    const std::vector<double> losses = dropout_losses(cat("drop_", run), "0.4");
    ASSERT_EQ(losses.size(), 50u);
    double end = 0;
    for (size_t step = 40; step < 50; ++step) end += losses[step] / 10;
    sum += end;
    squares += end * end;
  }
  const double mean = sum / kRuns, variance = (squares - sum * sum / kRuns) / (kRuns - 1);
  const double deviation = expected["deviation"], runs = expected["runs"];
  EXPECT_NEAR(mean, expected["mean"], 4 * std::sqrt(variance / kRuns + deviation * deviation / runs));
  EXPECT_NEAR(std::sqrt(variance) / deviation, 1, 0.2) << "of two hundred draws";
}

TEST(GoldenDropout, OfNothingIsNothing) {
  Trainer with = trainer_of("dropout", {"model.dropout.rate=0"});
  Trainer without = trainer_of("dropout", {"model[1]=relu"});
  EXPECT_EQ(with.run().weights, without.run().weights) << "relu behind relu changes nothing";
}

INSTANTIATE_TEST_SUITE_P(PyTorch, GoldenTraining,
                         ::testing::Values("accumulated", "adamw_cosine", "classifier", "lenet", "mobile", "one_cycle",
                                           "residual", "residual_cnn", "weighted"),
                         [](const auto& name) { return std::string(name.param); });

}  // namespace
}  // namespace millrace
