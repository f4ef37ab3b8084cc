// Steps that go together in one launch train as those that go one by one: the same weights, losses and errors, whoever
// looks and whatever comes in between.
#include "millrace/trainer/step/flying_step.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "millrace/core/errors.h"
#include "millrace/trainer/config/overrides.h"
#include "tests/promises/training.h"
#include "tests/support/busy_device.h"
#include "tests/support/cuda.h"
#include "tests/trainer/checkpoint/open_training.h"
#include "tests/trainer/step/planned_step.h"

namespace millrace {
namespace {

using testing::PlannedStep;

class CudaGroupedSteps : public test::CudaTest {
 protected:
  struct Rule {
    std::string name;
    std::string optimizer = "sgd";
    GradientOptions gradients = {};
    int64_t window = 0;
    bool together = true;  // whether such steps may go in one launch at all
  };

  static std::vector<Rule> rules() {
    return {{.name = "in place"},
            {.name = "adam", .optimizer = "adam"},
            {.name = "clipped", .gradients = {.clip_norm = 0.5}},
            {.name = "window", .window = 100},
            {.name = "accumulated", .gradients = {.accumulate = 3}, .together = false},
            {.name = "checked", .gradients = {.check_finite = true}, .together = false}};
  }

  struct Trained {
    std::vector<float> weights;
    std::vector<double> losses;
    uint64_t groups = 0;
    bool operator==(const Trained& other) const { return weights == other.weights && losses == other.losses; }
  };

  // Batches that differ.
  std::vector<RowBlock> make_batches(const RowSpec& rows, const std::vector<int64_t>& sizes) {
    std::vector<RowBlock> batches(sizes.size());
    for (size_t i = 0; i < sizes.size(); ++i) {
      batches[i].configure(rows, 4, context().device());
      batches[i].resize(sizes[i]);
      for (int64_t row = 0; row < sizes[i]; ++row) {
        const auto values = test::random_values<float>(3, cat(i, '.', row));
        std::copy_n(values.begin(), 2, batches[i].row<float>(0, row));
        batches[i].row<float>(1, row)[0] = values[2];
      }
    }
    return batches;
  }

  // Trains on batches of these sizes; `later` says of each whether it waits for a device that is busy then, or is to be
  // done at once, `looks` whether its loss is asked for.
  Trained train(const Rule& rule, const std::vector<int64_t>& sizes, const std::function<bool(size_t)>& later,
                const std::function<bool(size_t)>& looks) {
    PlannedStep made(context(), 1);
    const auto optimizer = made.optimizer(rule.optimizer);
    std::vector<RowBlock> batches = make_batches(made.rows, sizes);
    Trained out;
    {
      const auto step = TrainStep::make({.model = made.model,
                                         .context = context(),
                                         .loss = *made.loss,
                                         .optimizer = *optimizer,
                                         .rows = made.rows,
                                         .gradients = rule.gradients,
                                         .window_batches = rule.window,
                                         .batches_in_flight = 8});
      for (size_t i = 0; i < batches.size(); ++i) {
        if (later(i)) test::keep_busy(context());
        EXPECT_EQ(step->run(batches[i]), StepOutcome::trained);
        if (!later(i)) step->model();
        EXPECT_EQ(step->steps(), i + 1);
        if (looks(i)) out.losses.push_back(step->loss());
      }
      out.groups = step->groups();
      EXPECT_EQ(step->not_recorded(), "");
    }  // what waits is launched
    context().synchronize();
    const TensorView block = made.model.parameter_block();
    out.weights = download<float>(block.data(), static_cast<size_t>(block.elements()));
    return out;
  }
};

bool always(size_t) { return true; }
bool never(size_t) { return false; }

TEST_F(CudaGroupedSteps, TrainAnyNumberOfBatches) {
  for (const Rule& rule : rules()) {
    for (const size_t count : {7u, 13u, 14u, 19u, 24u}) {
      const std::vector<int64_t> sizes(count, 4);
      EXPECT_EQ(train(rule, sizes, always, never), train(rule, sizes, never, never)) << rule.name << ' ' << count;
    }
  }
}

// Who asks may have said so before, or not.
TEST_F(CudaGroupedSteps, GiveTheirLossesToWhoeverAsks) {
  const std::vector<int64_t> sizes(26, 4);
  for (const Rule& rule : rules()) {
    for (const size_t every : {1U, 3U, 5U}) {
      const auto looks = [&](size_t i) { return i % every == every - 1; };
      const auto announced = [&](size_t i) { return !looks(i); };
      const Trained alone = train(rule, sizes, never, looks);
      EXPECT_EQ(train(rule, sizes, always, looks), alone) << rule.name << ' ' << every;
      EXPECT_EQ(train(rule, sizes, announced, looks), alone) << rule.name << ' ' << every;
    }
  }
}

TEST_F(CudaGroupedSteps, MayBeOfSeveralSizes) {
  for (const Rule& rule : rules()) {
    for (const size_t every : {5U, 6U, 13U}) {
      std::vector<int64_t> sizes(32, 4);
      for (size_t i = every - 1; i < sizes.size(); i += every) sizes[i] = static_cast<int64_t>(1 + i % 3);
      EXPECT_EQ(train(rule, sizes, always, never), train(rule, sizes, never, never)) << rule.name << ' ' << every;
    }
  }
}

TEST_F(CudaGroupedSteps, GoInOneLaunch) {
  if (!test::can_be_busy(context())) GTEST_SKIP() << "this device does what it is given at once, or whenever it likes";
  const std::vector<int64_t> sizes(50, 4);
  for (const Rule& rule : rules()) {
    EXPECT_EQ(train(rule, sizes, never, never).groups, 0U) << rule.name;
    EXPECT_EQ(train(rule, sizes, always, never).groups, rule.together ? 9U : 0U)
        << rule.name << ": all but 12 before the first group, and the last two";
  }
}

TEST_F(CudaGroupedSteps, TrainEverythingBeforeABatchThatMakesNoSense) {
  for (const size_t bad : {9U, 14U, 16U, 17U, 19U}) {
    const auto weights = [&](bool later) {
      PlannedStep made(context(), 1);
      made.loss = made.catalog.losses.make({"sigmoid_cross_entropy", Spec::map()}, Spec::map());
      const auto sgd = made.optimizer();
      std::vector<RowBlock> batches = make_batches(made.rows, std::vector<int64_t>(bad + 1, 4));
      for (RowBlock& batch : batches) {
        for (int64_t row = 0; row < 4; ++row) batch.row<float>(1, row)[0] = static_cast<float>(row % 2);
      }
      batches[bad].row<float>(1, 2)[0] = 3;
      const auto step = TrainStep::make({.model = made.model,
                                         .context = context(),
                                         .loss = *made.loss,
                                         .optimizer = *sgd,
                                         .rows = made.rows,
                                         .batches_in_flight = 8});
      for (size_t i = 0; i < bad; ++i) {
        if (later) test::keep_busy(context());
        step->run(batches[i]);
        if (!later) step->model();
      }
      try {
        step->run(batches[bad]);
        ADD_FAILURE();
      } catch (const RowError& error) {
        EXPECT_EQ(error.row, 2);
      }
      EXPECT_EQ(step->steps(), bad);
      const TensorView block = step->model().parameter_block();
      return download<float>(block.data(), static_cast<size_t>(block.elements()));
    };
    EXPECT_EQ(weights(true), weights(false)) << bad;
  }
}

// Whole trainings. Who is told of every batch has them launched one by one.
class CudaGroupedTraining : public test::CudaTest {
 protected:
  void SetUp() override {
    test::CudaTest::SetUp();
    testing::write_data(folder_);
  }

  Trainer make(const std::vector<std::string>& overrides, const testing::Setting& setting = {}) {
    Spec spec = parse_yaml(testing::training_yaml(folder_, setting), "test.yaml");
    for (const std::string& text : overrides) apply_override(spec, text);
    apply_override(spec, cat("device=", context().device().text()));
    return Trainer::from_spec(std::move(spec));
  }

  struct Ended {
    std::string weights = {};
    double loss = 0;
    int64_t steps = 0;
    bool operator==(const Ended&) const = default;
  };
  static Ended train(Trainer trainer, bool watched, TrainCallbacks callbacks = {}) {
    if (watched) callbacks.on_batch = [](const BatchReport&) {};
    Ended out;
    try {
      const TrainResult result = trainer.run(callbacks);
      out = {.weights = result.weights, .loss = result.loss};
    } catch (const Error& error) {
      ADD_FAILURE() << error.what();
    }
    out.steps = trainer.steps();
    return out;
  }

  TempFolder folder_;
};

TEST_F(CudaGroupedTraining, OfSeveralEpochsEndsWithTheSameWeights) {
  for (const char* delivery : {"native", "staging", "constant"}) {
    for (const char* optimizer : {"sgd", "adam"}) {
      const std::vector<std::string> overrides = {"input.filename_queue.epochs=4", "train.steps=47",
                                                  "train.log_every=47", cat("delivery=", delivery),
                                                  cat("optimizer={", optimizer, ": {learning_rate: 0.05}}")};
      uint64_t groups = 0;
      TrainCallbacks callbacks;
      callbacks.on_step = [&](const StepReport& report) { groups = report.groups; };
      const Ended alone = train(make(overrides), true, callbacks);
      EXPECT_EQ(groups, 0U) << delivery << ' ' << optimizer;
      EXPECT_EQ(train(make(overrides), false, callbacks), alone) << delivery << ' ' << optimizer;
      EXPECT_EQ(alone.steps, 47);
      // How busy another device is depends on it.
      if (test::kEmulated && test::can_be_busy(context())) {
        EXPECT_GE(groups, 8U) << delivery << ' ' << optimizer;
      }
    }
  }
}

TEST_F(CudaGroupedTraining, EndsWithASmallerBatch) {
  for (const char* epochs : {"1", "2", "3"}) {
    const std::vector<std::string> overrides = {cat("input.filename_queue.epochs=", epochs)};
    EXPECT_EQ(train(make(overrides), false), train(make(overrides), true)) << epochs;
  }
}

TEST_F(CudaGroupedTraining, LogsAnyStep) {
  for (const char* every : {"1", "3", "5", "7"}) {
    std::vector<double> losses[2];
    Ended ended[2];
    for (const bool watched : {false, true}) {
      TrainCallbacks callbacks;
      callbacks.on_step = [&](const StepReport& report) { losses[watched].push_back(report.loss); };
      ended[watched] = train(make({cat("train.log_every=", every)}), watched, callbacks);
    }
    EXPECT_EQ(losses[0], losses[1]) << every;
    EXPECT_EQ(ended[0], ended[1]) << every;
  }
}

TEST_F(CudaGroupedTraining, ReportsOverWindows) {
  for (const char* every : {"3", "10"}) {
    const std::vector<std::string> overrides = {cat("train.log_every=", every), "train.report_over=window"};
    EXPECT_EQ(train(make(overrides), false), train(make(overrides), true)) << every;
  }
}

TEST_F(CudaGroupedTraining, IsStoppedInTheMiddleOfAGroup) {
  for (const int64_t at : {12, 14, 15}) {
    Ended ended[2];
    for (const bool watched : {false, true}) {
      Trainer trainer = make({cat("train.log_every=", at)});
      TrainCallbacks callbacks;
      callbacks.on_step = [&](const StepReport&) { trainer.stop(); };
      if (watched) callbacks.on_batch = [](const BatchReport&) {};
      const TrainResult result = trainer.run(callbacks);
      ended[watched] = {.weights = result.weights, .loss = result.loss, .steps = result.steps};
    }
    EXPECT_EQ(ended[0].steps, at);
    EXPECT_EQ(ended[0], ended[1]) << at;
  }
}

// Also what the model is when data have an error, and what a program keeps of it while a line is told.
TEST_F(CudaGroupedTraining, LeavesTheModelOfTheLastFinishedStep) {
  folder_.write("part-4.csv", "1,2,3,4,5,x,plain,1.0\n");
  const auto saved = [&](const char* delivery, bool watched) {
    Trainer trainer = make({cat("delivery=", delivery), "input.filename_queue.shuffle=false"});
    TrainCallbacks callbacks;
    if (watched) callbacks.on_batch = [](const BatchReport&) {};
    std::string error;
    try {
      trainer.run(callbacks);
    } catch (const DataError& thrown) {
      error = thrown.what();
    }
    EXPECT_NE(error.find("part-4.csv:1"), std::string::npos) << error;
    const std::string path = folder_.path("left.safetensors");
    trainer.save(path);
    return cat(trainer.steps(), ' ', error, TempFolder::read(path));
  };
  for (const char* delivery : {"native", "staging"}) EXPECT_EQ(saved(delivery, false), saved(delivery, true));
}

// Whoever saves has the steps that wait launched, too.
TEST_F(CudaGroupedTraining, GoesOnFromEveryBorder) {
  for (const std::vector<std::string>& overrides :
       std::vector<std::vector<std::string>>{{"train.report_over=window"},
                                             {"optimizer={adam: {learning_rate: 0.05}}"},
                                             {"train.accumulate=3", "train.on_nonfinite=skip"}}) {
    Spec spec = parse_yaml(testing::training_yaml(folder_, {}), "test.yaml");
    apply_overrides(spec, overrides);
    apply_overrides(spec, std::vector<std::string>{"train.steps=11", "train.log_every=4",
                                                   cat("device=", context().device().text())});
    EXPECT_EQ(testing::restore_difference(spec), "") << overrides[0];
  }
}

TEST_F(CudaGroupedTraining, IsTheSameBesideAnother) {
  const std::vector<std::string> overrides = {"input.filename_queue.epochs=3"};
  const Ended expected = train(make(overrides), true);
  std::vector<Ended> together(2);
  std::vector<std::thread> threads;
  for (Ended& one : together) threads.emplace_back([&] { one = train(make(overrides), false); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(together[0], expected);
  EXPECT_EQ(together[1], expected);
}

TEST_F(CudaGroupedTraining, CountsItsBatches) {
  const uint64_t few = make({"delivery=feed"}).memory_bound(), many = make({"delivery=native"}).memory_bound();
  // Rows of 16 as 6 features and a label, each padded to 64 bytes: on the host, and in two plans.
  constexpr uint64_t kBatch = 16 * 2 * 64;
  EXPECT_GE(many, few + (8 - 2) * kBatch + 2 * (8 - 1) * kBatch);
}

}  // namespace
}  // namespace millrace
