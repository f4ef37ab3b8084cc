#include "millrace/trainer/training_loop.h"

#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "millrace/trainer/config/overrides.h"
#include "millrace/trainer/files/yaml.h"
#include "millrace/trainer/trainer.h"
#include "tests/support/temp_folder.h"

namespace millrace {
namespace {

constexpr std::string_view kConfig =
    "seed: 11\ndevice: cpu\nthreads: 2\ninput:\n  - synthetic: {task: sum, features: 20, rows: 500}\n"
    "  - batch: {batch_size: 16, allow_smaller_final_batch: true}\nmodel:\n  - dense: {units: 30, activation: relu}\n"
    "  - dense: {units: 1}\nloss: sigmoid_cross_entropy\nmetrics: [accuracy]\n"
    "optimizer: {sgd: {learning_rate: 0.1}}\n";

Trainer make(std::string_view more = {}) {
  return Trainer::from_spec(parse_yaml(std::string(kConfig) + std::string(more), "t.yaml"));
}

TEST(TrainingLoop, TrainsUntilTheDataEnds) {
  Trainer trainer = make("train: {log_every: 10}\n");
  std::vector<StepReport> reports;
  StartReport start;
  TrainCallbacks callbacks;
  callbacks.on_start = [&](const StartReport& report) { start = report; };
  callbacks.on_step = [&](const StepReport& report) { reports.push_back(report); };
  const TrainResult result = trainer.run(callbacks);
  EXPECT_EQ(start.device, "cpu");
  EXPECT_EQ(start.threads, 2);
  EXPECT_EQ(start.parameters, 20 * 30 + 30 + 30 + 1);
  EXPECT_EQ(start.batch_size, 16);
  EXPECT_FALSE(start.steps.has_value());
  EXPECT_EQ(result.reason, "end of data");
  EXPECT_EQ(result.steps, 32);
  EXPECT_EQ(result.rows, 500u);
  EXPECT_EQ(result.epochs, 1u);
  EXPECT_EQ(result.last_batch, 4);
  ASSERT_EQ(reports.size(), 3u);
  EXPECT_EQ(reports[2].step, 30);
  EXPECT_EQ(reports[2].epoch, 1u);
  EXPECT_EQ(reports[2].batch_size, 16);
  ASSERT_EQ(reports[2].metrics.size(), 1u);
  EXPECT_EQ(reports[2].metrics[0].first, "accuracy");
  EXPECT_LT(result.loss, reports[0].loss);
  EXPECT_EQ(result.weights.size(), 64u);
  EXPECT_GT(reports[2].rows_per_s, 0);
}

TEST(TrainingLoop, SaysWhichShareIsDone) {
  const auto shares = [](const std::string& more) {
    std::vector<double> out;
    make("train: {log_every: 8" + more).run({.on_step = [&](const StepReport& report) {
      out.push_back(report.done.value_or(-1));
    }});
    return out;
  };
  // Of the data, however far ahead a delivery reads.
  for (const char* delivery : {"native", "queue", "staging", "feed"}) {
    const std::vector<double> found = shares(cat("}\ndelivery: ", delivery, '\n'));
    ASSERT_EQ(found.size(), 4u) << delivery;
    EXPECT_NEAR(found[0], 8 * 16 / 500.0, 1e-9) << delivery;
    EXPECT_NEAR(found[3], 1, 1e-9) << delivery;
  }
  // Of the steps, if they end the training first.
  EXPECT_EQ(shares(", steps: 16}\n"), (std::vector<double>{0.5, 1}));
  EXPECT_NEAR(shares(", steps: 1000}\n")[0], 8 * 16 / 500.0, 1e-9);
  EXPECT_EQ(shares(", steps: 16}\ndelivery: constant\n"), (std::vector<double>{0.5, 1}));
  Spec endless = parse_yaml(kConfig, "t.yaml");
  apply_overrides(endless, std::vector<std::string>{"input.synthetic.rows=null"});
  Trainer trainer = Trainer::from_spec(std::move(endless));
  TrainCallbacks callbacks;
  callbacks.on_step = [&](const StepReport& report) {
    EXPECT_FALSE(report.done.has_value());
    trainer.stop();
  };
  trainer.run(callbacks);
}

TEST(TrainingLoop, DataWithoutABatchAreAnError) {
  Spec config = parse_yaml(kConfig, "t.yaml");
  apply_overrides(config, std::vector<std::string>{"input.batch={batch_size: 501}"});
  Trainer trainer = Trainer::from_spec(std::move(config));
  EXPECT_EQ(error_of<DataError>([&] { trainer.run(); }),
            "the data ended before the first batch, so nothing was trained; check what the files hold and what is left "
            "out, or lower batch_size");
}

TEST(TrainingLoop, TrainsNothingInNoSteps) {
  const TempFolder folder;
  const std::string file = folder.path("m.safetensors");
  std::vector<std::string> log;
  int reports = 0;
  const auto run = [&](const std::string& more) {
    return make(more).run({.on_step = [&](const StepReport&) { ++reports; },
                           .on_validation = [&](const ValidationReport&) { ++reports; },
                           .on_log = [&](std::string_view text) { log.emplace_back(text); }});
  };
  const TrainResult result = run(cat("train: {steps: 0}\nsave: ", file, "\n"));
  EXPECT_EQ(result.reason, "steps");
  EXPECT_EQ(result.steps, 0);
  EXPECT_EQ(result.rows, 0u);
  EXPECT_TRUE(std::isnan(result.loss));
  EXPECT_EQ(result.saved, file);
  // The model that is loaded is the one that another training begins with.
  EXPECT_EQ(run(cat("train: {steps: 0}\nload: ", file, "\n")).weights, result.weights);
  EXPECT_EQ(run(cat("train: {steps: 3}\nload: ", file, "\n")).weights, run("train: {steps: 3}\n").weights);
  const TrainResult validated =
      run("train: {steps: 0}\nvalidation: {input: [{synthetic: {rows: 5, features: 20}}, {batch: {batch_size: 5}}], "
          "every: 1, keep_best: true}\n");
  EXPECT_EQ(validated.weights, result.weights);
  EXPECT_FALSE(validated.best);
  EXPECT_EQ(reports, 0);
  EXPECT_EQ(log, std::vector<std::string>());
}

TEST(TrainingLoop, StopsAtTheWantedStep) {
  const TrainResult result = make("train: {steps: 7}\n").run();
  EXPECT_EQ(result.reason, "steps");
  EXPECT_EQ(result.steps, 7);
  EXPECT_EQ(result.rows, 112u);
}

TEST(TrainingLoop, CanBeStoppedByItsCallbacks) {
  Trainer trainer = make("train: {log_every: 3}\n");
  TrainCallbacks callbacks;
  callbacks.on_step = [&](const StepReport& report) {
    if (report.step == 6) trainer.stop();
  };
  const TrainResult result = trainer.run(callbacks);
  EXPECT_EQ(result.reason, "stopped");
  EXPECT_EQ(result.steps, 6);
  EXPECT_EQ(result.rows, 96u);
  EXPECT_EQ(result.weights, make("train: {steps: 6}\n").run().weights);
}

TEST(TrainingLoop, AStopBeforeTheStartLeavesNothingToDo) {
  Trainer trainer = make();
  trainer.stop();
  trainer.stop();
  const TrainResult result = trainer.run();
  EXPECT_EQ(result.reason, "stopped");
  EXPECT_EQ(result.steps, 0);
  EXPECT_EQ(result.last_batch, 0);
}

TEST(TrainingLoop, RunsOnce) {
  Trainer trainer = make("train: {steps: 2}\n");
  trainer.run();
  EXPECT_EQ(trainer.steps(), 2);
  EXPECT_THROW(trainer.run(), CallError);
}

// What a callback throws comes out of run(), and the training is over.
TEST(TrainingLoop, LetsAnExceptionOfACallbackPass) {
  Trainer trainer = make("train: {log_every: 4}\n");
  TrainCallbacks callbacks;
  callbacks.on_step = [](const StepReport&) { throw std::string("enough"); };
  EXPECT_THROW(trainer.run(callbacks), std::string);
  EXPECT_EQ(trainer.steps(), 4);
  EXPECT_THROW(trainer.run(), CallError);
}

// A loss that cannot be computed.
class Unlucky final : public Loss {
 public:
  struct Options {
    void declare(OptionReader&) {}
  };
  static constexpr std::string_view kDoc = "fails";
  explicit Unlucky(const Options&) {}
  void check(const TensorSpec&, const TensorSpec&) const override {}
  LabelSpec label(const TensorSpec&) const override { return {}; }
  std::unique_ptr<LossPlan> plan(Context&, const LossPlanArgs&) const override {
    struct Plan final : LossPlan {
      void run(Context&, const LossArgs&) override { throw std::runtime_error("no luck"); }
    };
    return std::make_unique<Plan>();
  }
};

TEST(TrainingLoop, WhatIsNoErrorInAStepBecomesOne) {
  Catalog catalog = Catalog::builtin();
  catalog.add_loss<Unlucky>("unlucky");
  Spec config = parse_yaml(kConfig, "t.yaml");
  config.set("loss", "unlucky");
  Trainer trainer = Trainer::from_spec(config, catalog);
  try {
    trainer.run();
    ADD_FAILURE() << "it trained";
  } catch (const InternalError& error) {
    EXPECT_EQ(error.message(), "loss unlucky: no luck");
  }
  EXPECT_EQ(trainer.steps(), 0);
}

}  // namespace
}  // namespace millrace
