// The options of the key `train`, in whole trainings.
#include <gtest/gtest.h>

#include <cmath>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "millrace/layers/model/model.h"
#include "millrace/trainer/config/config.h"
#include "millrace/trainer/config/overrides.h"
#include "millrace/trainer/files/yaml.h"
#include "millrace/trainer/trainer.h"
#include "tests/support/temp_folder.h"

namespace millrace {
namespace {

constexpr std::string_view kConfig =
    "seed: 11\ndevice: cpu\nthreads: 2\ninput:\n  - synthetic: {task: sum, features: 20, rows: 500}\n"
    "  - batch: {batch_size: 16, allow_smaller_final_batch: true}\nmodel:\n  - dense: {units: 30, activation: tanh}\n"
    "  - dense: {units: 1}\nloss: sigmoid_cross_entropy\nmetrics: [accuracy]\n"
    "optimizer: {sgd: {learning_rate: 0.1}}\n";

Trainer make(const std::vector<std::string>& overrides = {}) {
  Spec config = parse_yaml(kConfig, "t.yaml");
  apply_overrides(config, overrides);
  return Trainer::from_spec(std::move(config));
}

std::vector<double> parameters_of(Trainer& trainer) {
  std::vector<double> out;
  for (size_t i = 0; i < trainer.model().parameters().size(); ++i) {
    const TensorView view = trainer.model().parameter(i);
    for (int64_t k = 0; k < view.elements(); ++k) out.push_back(static_cast<double>(view.as<float>()[k]));
  }
  return out;
}

TEST(TrainOptions, BatchesThatAreAccumulatedTrainLikeOne) {
  // 500 rows in batches of 8: the last update is of one batch alone, of 4 rows.
  Trainer whole = make(), parts = make({"input.batch.batch_size=8", "train.accumulate=2"});
  whole.run();
  const TrainResult result = parts.run();
  EXPECT_EQ(result.steps, 63);
  const std::vector<double> expected = parameters_of(whole), actual = parameters_of(parts);
  for (size_t i = 0; i < expected.size(); ++i) ASSERT_NEAR(actual[i], expected[i], 1e-5) << i;

  Trainer plain = make({"input.batch.batch_size=8"});
  plain.run();
  EXPECT_GT(std::abs(parameters_of(plain)[0] - expected[0]), 1e-4) << "the comparison could not fail";
}

TEST(TrainOptions, AccumulatedBatchesAreCountedAsSteps) {
  const TrainResult result = make({"train.accumulate=4", "train.steps=6"}).run();
  EXPECT_EQ(result.reason, "steps");
  EXPECT_EQ(result.steps, 6);
  EXPECT_EQ(result.rows, 96u);
}

TEST(TrainOptions, ClippingLimitsTheUpdate) {
  const auto moved = [](const std::vector<std::string>& overrides) {
    std::vector<std::string> one_step = overrides;
    one_step.emplace_back("train.steps=1");
    Trainer trainer = make(one_step);
    const std::vector<double> before = parameters_of(trainer);
    trainer.run();
    std::vector<double> out = parameters_of(trainer);
    for (size_t i = 0; i < out.size(); ++i) out[i] -= before[i];
    return out;
  };
  const auto norm = [](const std::vector<double>& values) {
    double square = 0;
    for (const double value : values) square += value * value;
    return std::sqrt(square);
  };
  const std::vector<double> free = moved({});
  ASSERT_GT(norm(free), 0.02);
  const std::vector<double> clipped = moved({"train.clip_norm=0.1"});
  EXPECT_NEAR(norm(clipped), 0.01, 1e-5);
  for (size_t i = 0; i < free.size(); ++i)
    EXPECT_NEAR(clipped[i], free[i] * 0.01 / norm(free), 1e-6) << "the direction";
  const std::vector<double> limited = moved({"train.clip_value=0.005"});
  for (size_t i = 0; i < free.size(); ++i) {
    EXPECT_NEAR(limited[i], std::min(0.0005, std::max(-0.0005, free[i])), 1e-7) << i;
  }
}

TEST(TrainOptions, AWindowIsOverAllItsBatches) {
  const auto reports = [](const std::vector<std::string>& overrides, TrainResult& result) {
    std::vector<StepReport> out;
    TrainCallbacks callbacks;
    callbacks.on_step = [&](const StepReport& report) { out.push_back(report); };
    result = make(overrides).run(callbacks);
    return out;
  };
  TrainResult each, joined;
  const std::vector<StepReport> steps = reports({"train.log_every=1"}, each);
  const std::vector<StepReport> windows = reports({"train.log_every=5", "train.report_over=window"}, joined);
  ASSERT_EQ(steps.size(), 32u);
  ASSERT_EQ(windows.size(), 6u);
  EXPECT_EQ(joined.weights, each.weights);
  const auto expect_window = [&](size_t begin, size_t end, double loss, const MetricValues& metrics) {
    double rows = 0, loss_sum = 0, hits = 0;
    for (size_t i = begin; i < end; ++i) {
      const auto size = static_cast<double>(steps[i].batch_size);
      rows += size;
      loss_sum += size * steps[i].loss;
      hits += size * steps[i].metrics[0].second;
    }
    EXPECT_NEAR(loss, loss_sum / rows, 1e-9);
    EXPECT_NEAR(metrics[0].second, hits / rows, 1e-9);
  };
  for (size_t i = 0; i < windows.size(); ++i) {
    expect_window(5 * i, 5 * i + 5, windows[i].loss, windows[i].metrics);
  }
  expect_window(30, 32, joined.loss, joined.metrics);
  const TrainResult unheard = make({"train.log_every=5", "train.report_over=window"}).run();
  EXPECT_EQ(unheard.loss, joined.loss) << "whether or not somebody hears the reports";
  EXPECT_EQ(unheard.metrics, joined.metrics);
  // Where the training ends with a report, the result says the same.
  TrainResult even;
  const std::vector<StepReport> last = reports({"train.log_every=16", "train.report_over=window"}, even);
  EXPECT_EQ(even.loss, last.back().loss);
  EXPECT_EQ(even.metrics, last.back().metrics);
}

// Rows of two features and a label in batches of 4; row 10 of 20, in batch 3, has a NaN.
class NonfiniteTraining : public ::testing::Test {
 protected:
  NonfiniteTraining() {
    std::string all, huge, without;
    for (int row = 1; row <= 20; ++row) {
      const std::string first = cat(row % 3, ','), last = cat(',', row % 2, '\n'), usual = cat(row % 5);
      all += cat(first, row == 10 ? "nan" : usual, last);
      huge += cat(first, row == 10 ? "3e30" : usual, last);
      if (row <= 8 || row > 12) without += cat(first, usual, last);
    }
    folder_.write("all.csv", all);
    folder_.write("huge.csv", huge);
    folder_.write("without.csv", without);
  }
  Trainer trainer(const std::string& file, const std::vector<std::string>& overrides) {
    Spec config = parse_yaml(
        cat("device: cpu\ninput:\n  - filename_queue: {files: ", quote(folder_.path(file), 4096),
            ", epochs: 1}\n  - csv_reader\n  - decode_csv: {fields: {features: {columns: 0-1}, label: {columns: 2}}}\n"
            "  - batch: {batch_size: 4}\nmodel: [{dense: {units: 1}}]\nloss: sigmoid_cross_entropy\n"
            "optimizer: {sgd: {learning_rate: 0.1}}\n"),
        "t.yaml");
    apply_overrides(config, overrides);
    return Trainer::from_spec(std::move(config));
  }
  TrainCallbacks logging() {
    TrainCallbacks callbacks;
    callbacks.on_log = [this](std::string_view text) { log_.emplace_back(text); };
    return callbacks;
  }
  std::string place(int line) const { return cat(folder_.path("all.csv"), ':', line); }

  TempFolder folder_;
  std::vector<std::string> log_;
  const std::string what_ =
      "step 3: the loss is nan; features[1] of this row is nan; leave such rows out: decode_csv: {allow_nonfinite: "
      "false, on_bad_row: skip}";
};

TEST_F(NonfiniteTraining, IsWarnedOfOnce) {
  const TrainResult result = trainer("all.csv", {}).run(logging());
  EXPECT_EQ(result.steps, 5);
  EXPECT_EQ(result.skipped_steps, 0);
  EXPECT_EQ(log_, std::vector<std::string>{cat("warning: ", place(10), ": ", what_)});
}

TEST_F(NonfiniteTraining, CanBeIgnored) {
  EXPECT_TRUE(std::isnan(trainer("all.csv", {"train.on_nonfinite=off"}).run(logging()).loss));
  EXPECT_TRUE(log_.empty());
}

TEST_F(NonfiniteTraining, CanFailWithTheModelAsItWas) {
  Trainer failing = trainer("all.csv", {"train.on_nonfinite=fail"}), before = trainer("all.csv", {"train.steps=2"});
  try {
    failing.run(logging());
    FAIL();
  } catch (const DataError& error) {
    EXPECT_EQ(error.what(), cat(place(10), ": ", what_));
  }
  EXPECT_EQ(failing.steps(), 2);
  before.run();
  // Updates behind a check of the gradients are those of the plain ones up to rounding.
  const std::vector<double> actual = parameters_of(failing), expected = parameters_of(before);
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(actual[i], expected[i], 1e-6);
}

TEST_F(NonfiniteTraining, TellsOfTenSkippedSteps) {
  std::string rows;
  for (int i = 0; i < 60; ++i) rows += "1,nan,0\n";
  folder_.write("all.csv", rows);
  const TrainResult result = trainer("all.csv", {"train.on_nonfinite=skip"}).run(logging());
  EXPECT_EQ(result.skipped_steps, 15);
  ASSERT_EQ(log_.size(), 11u);
  EXPECT_TRUE(log_[9].starts_with("warning: skipped ")) << log_[9];
  EXPECT_EQ(log_[10], "warning: further skipped steps are counted, but not reported");
}

TEST_F(NonfiniteTraining, CanBeSkipped) {
  for (const char* accumulate : {"train.accumulate=1", "train.accumulate=2"}) {
    log_.clear();
    Trainer skipping = trainer("all.csv", {"train.on_nonfinite=skip", accumulate});
    Trainer without = trainer("without.csv", {"train.on_nonfinite=skip", accumulate});
    const TrainResult result = skipping.run(logging());
    EXPECT_EQ(result.steps, 5);
    EXPECT_EQ(result.rows, 20u);
    EXPECT_EQ(result.skipped_steps, 1);
    EXPECT_EQ(log_, std::vector<std::string>{cat("warning: skipped ", place(10), ": ", what_)});
    EXPECT_EQ(result.weights, without.run().weights) << "as if the batch had not been there";
  }
}

TEST_F(NonfiniteTraining, IsOfTheBatchWhereWindowsAreReported) {
  const std::string window = "train.report_over=window", skip = "train.on_nonfinite=skip";
  const std::vector<std::string> expected = {cat("warning: skipped ", place(10), ": ", what_)};
  trainer("all.csv", {window, skip}).run(logging());
  EXPECT_EQ(log_, expected) << "the window of the batches before is finite";

  log_.clear();
  std::vector<double> losses;
  TrainCallbacks callbacks = logging();
  callbacks.on_step = [&](const StepReport& report) { losses.push_back(report.loss); };
  trainer("all.csv", {window, skip, "train.log_every=1"}).run(callbacks);
  EXPECT_EQ(log_, expected);
  ASSERT_EQ(losses.size(), 5u);
  for (size_t i = 0; i < losses.size(); ++i) EXPECT_EQ(std::isnan(losses[i]), i == 2) << "window 3 has no batch";
}

// The square of 3e30 is beyond float32: the running variance would be infinite for good, and the loss would not show
// it.
class NonfiniteStates : public NonfiniteTraining {
 protected:
  Trainer training(const std::string& file, std::vector<std::string> overrides) {
    overrides.emplace_back("model=[batch_norm, {dense: {units: 1}}]");
    return trainer(file, overrides);
  }
  static std::vector<double> states_of(Trainer& trainer) {
    std::vector<double> out;
    for (size_t i = 0; i < trainer.model().states().size(); ++i) {
      const TensorView view = trainer.model().state(i);
      for (int64_t k = 0; k < view.elements(); ++k) out.push_back(static_cast<double>(view.as<float>()[k]));
    }
    return out;
  }
  const std::string state_ = cat(folder_.path("huge.csv"),
                                 ":10: step 3: the state batch_norm.variance is not finite; features[1] of this row is "
                                 "3e+30; normalize values of this size, or lower the learning rate");
};

TEST_F(NonfiniteStates, AreWarnedOfOnce) {
  const TrainResult result = training("huge.csv", {}).run(logging());
  EXPECT_TRUE(std::isfinite(result.loss));
  EXPECT_EQ(log_, std::vector<std::string>{cat("warning: ", state_)});
  log_.clear();
  training("without.csv", {}).run(logging());
  training("huge.csv", {"train.on_nonfinite=off"}).run(logging());
  EXPECT_EQ(log_, std::vector<std::string>{});
}

TEST_F(NonfiniteStates, CanFailWithTheModelAsItWas) {
  Trainer failing = training("huge.csv", {"train.on_nonfinite=fail"});
  Trainer before = training("huge.csv", {"train.on_nonfinite=fail", "train.steps=2"});
  try {
    failing.run(logging());
    FAIL();
  } catch (const DataError& error) {
    EXPECT_EQ(error.what(), state_);
  }
  before.run();
  EXPECT_EQ(states_of(failing), states_of(before));
  EXPECT_EQ(parameters_of(failing), parameters_of(before));
}

TEST_F(NonfiniteStates, CanBeSkipped) {
  for (const char* accumulate : {"train.accumulate=1", "train.accumulate=2"}) {
    log_.clear();
    Trainer skipping = training("huge.csv", {"train.on_nonfinite=skip", accumulate});
    Trainer without = training("without.csv", {"train.on_nonfinite=skip", accumulate});
    const TrainResult result = skipping.run(logging());
    EXPECT_EQ(result.skipped_steps, 1);
    EXPECT_EQ(log_, std::vector<std::string>{cat("warning: skipped ", state_)});
    EXPECT_EQ(result.weights, without.run().weights) << "as if the batch had not been there";
    EXPECT_EQ(states_of(skipping), states_of(without));
  }
}

// A second moment that is infinite stays so: its parameter never changes again, and the loss does not show it.
class NonfiniteOptimizers : public NonfiniteTraining {
 protected:
  // In the last rows nothing is large; in the first ones `value` stands `often` times.
  Trainer training(const std::string& optimizer, const char* value, int often, std::vector<std::string> overrides) {
    std::string rows;
    for (int row = 1; row <= 20; ++row) {
      rows += cat(row % 3, ',', row <= often ? std::string(value) : cat(row % 5), ',', row % 2, '\n');
    }
    folder_.write("large.csv", rows);
    overrides.insert(overrides.end(), {cat("optimizer=", optimizer), "loss=mae"});
    return trainer("large.csv", overrides);
  }
  std::string error_of(Trainer made) {
    try {
      made.run(logging());
    } catch (const DataError& error) {
      return error.what();
    }
    return "no error";
  }
  static std::string state(int step) {
    return cat("step ", step,
               ": the optimizer's state is not finite; some parameters may never change again: normalize large values, "
               "or set train.clip_norm");
  }
};

TEST_F(NonfiniteOptimizers, AreWarnedOfOnce) {
  for (const char* optimizer : {"rmsprop", "adagrad"}) {
    log_.clear();
    EXPECT_TRUE(std::isfinite(training(optimizer, "1e21", 1, {}).run(logging()).loss));
    EXPECT_EQ(log_, std::vector<std::string>{cat("warning: ", state(5))}) << optimizer << " at the end";
    log_.clear();
    training(optimizer, "1e21", 1, {"train.log_every=2"}).run(logging());
    EXPECT_EQ(log_, std::vector<std::string>{cat("warning: ", state(2))}) << optimizer << " with a report";
    log_.clear();
    training(optimizer, "1e21", 1, {"train.on_nonfinite=off"}).run(logging());
    training(optimizer, "1e21", 1, {"train.clip_norm=1"}).run(logging());
    training(optimizer, "2", 1, {}).run(logging());
    EXPECT_EQ(log_, std::vector<std::string>{}) << optimizer;
  }
  for (const char* optimizer : {"adam", "adamw"}) {
    log_.clear();
    training(optimizer, "3e30", 1, {}).run(logging());
    EXPECT_EQ(log_, std::vector<std::string>{cat("warning: ", state(5))}) << optimizer;
  }
}

TEST_F(NonfiniteOptimizers, AreSparedByFailAndSkip) {
  const std::string what =
      cat(folder_.path("large.csv"),
          ":1: step 1: the gradient or its square is not finite; features[1] of this row is 1e+21; normalize values of "
          "this size, or lower the learning rate");
  EXPECT_EQ(error_of(training("rmsprop", "1e21", 1, {"train.on_nonfinite=fail"})), what);
  EXPECT_EQ(error_of(training("{sgd: {learning_rate: 1.0e-9}}", "1e21", 1, {"train.on_nonfinite=fail"})), "no error")
      << "it keeps no squares";
  EXPECT_EQ(error_of(training("rmsprop", "1e21", 1, {"train.on_nonfinite=fail", "train.clip_norm=1"})), "no error");
  log_.clear();
  const TrainResult result = training("rmsprop", "1e21", 1, {"train.on_nonfinite=skip"}).run(logging());
  EXPECT_EQ(result.skipped_steps, 1);
  EXPECT_EQ(log_, std::vector<std::string>{cat("warning: skipped ", what)});
}

// Each square of 1.5e19 is a float; their sum is not.
TEST_F(NonfiniteOptimizers, MayBecomeInfiniteStepByStep) {
  const auto adagrad = [&](const char* rule, int log_every) {
    return training("adagrad", "1.5e19", 20, {cat("train.on_nonfinite=", rule), cat("train.log_every=", log_every)});
  };
  EXPECT_EQ(error_of(adagrad("fail", 100)), state(5));
  EXPECT_EQ(error_of(adagrad("fail", 2)), state(2)) << "also if nobody hears the reports";
  log_.clear();
  const TrainResult result = adagrad("skip", 1).run(logging());
  EXPECT_EQ(result.skipped_steps, 0);
  EXPECT_EQ(log_, std::vector<std::string>{cat("warning: ", state(2))});
}

}  // namespace
}  // namespace millrace
