// Trainer::resume(): a training goes on as if it had never ended. More configurations: tests/promises/.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "millrace/trainer/trainer.h"
#include "tests/promises/training.h"
#include "tests/trainer/interrupted.h"

namespace millrace::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ResumedTraining : public ::testing::Test {
 protected:
  ResumedTraining() { write_data(folder_); }

  Trainer undisturbed(Setting setting = {}) const {
    setting.more = more_ + setting.more;
    return make_trainer(folder_, setting);
  }
  Trainer trainer(Setting setting = {}) const {
    setting.more += checkpoint_key(dir_, "every: 1000");
    return undisturbed(setting);
  }
  // Leaves a checkpoint of each of these steps.
  void interrupt_at(const std::vector<int64_t>& steps) const {
    for (const int64_t step : steps) {
      Trainer one = trainer();
      one.resume();
      EXPECT_EQ(run_until(one, step).reason, "stopped");
      EXPECT_EQ(one.steps(), step);
    }
    EXPECT_EQ(checkpoints_in(dir_), steps);
  }
  static void cut(const std::string& file) {
    std::filesystem::resize_file(file, std::filesystem::file_size(file) - 100);
  }

  const TempFolder folder_;
  const std::string dir_ = folder_.path("checkpoints");
  std::string more_;  // further top-level YAML of all trainings
};

TEST_F(ResumedTraining, BeginsIfThereIsNoCheckpoint) {
  const std::string expected = outcome_of(undisturbed().run());
  for (const bool folder_is_there : {false, true}) {
    std::filesystem::remove_all(dir_);
    if (folder_is_there) std::filesystem::create_directory(dir_);
    Trainer first = trainer();
    EXPECT_FALSE(first.resume());
    const TrainResult result = first.run({.on_resume = [](const ResumeReport&) { ADD_FAILURE(); }});
    EXPECT_FALSE(result.resumed);
    EXPECT_EQ(outcome_of(result), expected);
    EXPECT_THAT(checkpoints_in(dir_), ElementsAre(26));
  }
}

TEST_F(ResumedTraining, IsAskedForIfThereAreCheckpoints) {
  interrupt_at({3});
  const std::string before = TempFolder::read(checkpoint_path(dir_, 3));
  Trainer fresh = trainer();
  int steps = 0;
  const std::string message =
      error_of<ConfigError>([&] { fresh.run({.on_batch = [&](const BatchReport&) { ++steps; }}); });
  EXPECT_THAT(message, AllOf(HasSubstr("test.yaml:16:"), HasSubstr(dir_), HasSubstr("--resume"),
                             HasSubstr("Trainer::resume()"), HasSubstr("another folder")));
  EXPECT_EQ(steps, 0);
  EXPECT_EQ(TempFolder::read(checkpoint_path(dir_, 3)), before);
  Trainer next = trainer();
  EXPECT_TRUE(next.resume()) << "the one that was refused holds the folder";
}

TEST_F(ResumedTraining, EndsAsIfNothingHadHappened) {
  const std::string expected = outcome_of(undisturbed().run());
  const std::vector<Setting> settings = {{.threads = 1, .delivery = "feed"},
                                         {.threads = 3, .chunk_bytes = 100, .delivery = "queue"},
                                         {.threads = 2, .capacity = 1000, .delivery = "staging"},
                                         {}};
  for (const int64_t step : {1, 12, 13, 25, 26}) {
    for (size_t i = 0; i < settings.size(); ++i) {
      std::filesystem::remove_all(dir_);
      Trainer first = trainer(settings[i]);
      EXPECT_EQ(run_until(first, step).steps, step);
      Trainer second = trainer(settings[(i + 1) % settings.size()]);
      const std::optional<ResumeReport> report = second.resume();
      ASSERT_TRUE(report) << step;
      EXPECT_EQ(report->step, step);
      EXPECT_EQ(report->file, checkpoint_path(dir_, step));
      EXPECT_THAT(report->notes, IsEmpty());
      EXPECT_EQ(second.steps(), step);
      const TrainResult result = second.run();
      EXPECT_EQ(result.resumed, step);
      EXPECT_EQ(outcome_of(result), expected) << step << " with " << settings[i].delivery;
    }
  }
}

TEST_F(ResumedTraining, SaysAtEveryStepWhatItWouldHaveSaid) {
  const auto lines_to = [](std::vector<std::string>& lines) {
    return TrainCallbacks{.on_step = [&](const StepReport& report) {
      lines.push_back(cat(report.step, " of epoch ", report.epoch, ", ", report.batch_size, " rows, done ",
                          report.done.value_or(-1), ", ", scores_text(report.loss, report.metrics)));
    }};
  };
  for (const char* train : {"{log_every: 1}", "{log_every: 4, report_over: window}"}) {
    std::filesystem::remove_all(dir_);
    more_ = cat("train: ", train, "\n");
    std::vector<std::string> expected, got;
    undisturbed().run(lines_to(expected));
    for (const int64_t step : {6, 17, 100}) {
      Trainer one = trainer();
      one.resume();
      run_until(one, step, lines_to(got));
    }
    EXPECT_EQ(got, expected) << train;
  }
}

TEST_F(ResumedTraining, IsCompleteIfItWas) {
  const std::string model = folder_.path("m.safetensors");
  for (const char* train : {"{steps: 20}", "{report_over: window, log_every: 10}"}) {
    more_ = cat("train: ", train, "\nsave: {file: ", quote(model, 4096), ", optimizer: true}\n");
    std::filesystem::remove_all(dir_);
    Trainer first = trainer();
    const TrainResult whole = first.run();
    const std::string saved = TempFolder::read(model);
    std::filesystem::remove(model);

    Trainer again = trainer();
    const std::optional<ResumeReport> report = again.resume();
    ASSERT_TRUE(report);
    EXPECT_EQ(report->step, whole.steps);
    const TrainResult result = again.run({.on_batch = [](const BatchReport&) { ADD_FAILURE(); },
                                          .on_step = [](const StepReport&) { ADD_FAILURE(); },
                                          .on_checkpoint = [](const CheckpointReport&) { ADD_FAILURE(); }});
    EXPECT_EQ(result.resumed, result.steps);
    EXPECT_EQ(outcome_of(result), outcome_of(whole)) << train;
    EXPECT_EQ(result.checkpoints.written, 0);
    EXPECT_EQ(result.checkpoints.file, checkpoint_path(dir_, whole.steps));
    EXPECT_EQ(result.saved, model);
    EXPECT_TRUE(TempFolder::read(model) == saved) << train;
  }
}

TEST_F(ResumedTraining, MayBeGivenMoreSteps) {
  more_ = "train: {steps: 20}\n";
  const std::string expected = outcome_of(undisturbed().run());
  more_ = "train: {steps: 9}\n";
  trainer().run();
  more_ = "train: {steps: 20}\n";
  Trainer longer = trainer();
  const std::optional<ResumeReport> report = longer.resume();
  ASSERT_TRUE(report);
  EXPECT_THAT(report->notes, ElementsAre(AllOf(HasSubstr("train.steps"), HasSubstr("9"), HasSubstr("20"))));
  std::vector<std::string> told;
  const TrainResult result = longer.run({.on_resume = [&](const ResumeReport& resumed) { told = resumed.notes; }});
  EXPECT_EQ(result.resumed, 9);
  EXPECT_EQ(outcome_of(result), expected);
  EXPECT_EQ(told, report->notes);
}

TEST_F(ResumedTraining, RefusesWhatChangesTheRest) {
  interrupt_at({4});
  const std::string before = TempFolder::read(checkpoint_path(dir_, 4));
  struct Change {
    std::string from, to;
    std::vector<std::string> words;
  };
  for (const Change& change :
       {Change{"batch_size: 16", "batch_size: 8", {"test.yaml:8:", "batch_size", "16", "8"}},
        Change{"units: 40", "units: 41", {"test.yaml:11:", "units", "40", "41"}},
        Change{"seed: 5", "seed: 6", {"test.yaml:1:", "seed", "5", "6"}},
        Change{"learning_rate: 0.1", "learning_rate: 0.2", {"test.yaml:15:", "learning_rate", "0.1", "0.2"}}}) {
    std::string yaml = training_yaml(folder_, {.more = checkpoint_key(dir_, "every: 1000")});
    ASSERT_NE(yaml.find(change.from), std::string::npos);
    yaml.replace(yaml.find(change.from), change.from.size(), change.to);
    Trainer other = Trainer::from_spec(parse_yaml(yaml, "test.yaml"));
    const std::string message = error_of<ConfigError>([&] { other.resume(); });
    for (const std::string& word : change.words) EXPECT_THAT(message, HasSubstr(word));
  }
  EXPECT_EQ(TempFolder::read(checkpoint_path(dir_, 4)), before);
}

TEST_F(ResumedTraining, TakesTheOneBeforeADamagedOne) {
  const std::string expected = outcome_of(undisturbed().run());
  interrupt_at({5, 11, 16});
  cut(checkpoint_path(dir_, 16));
  std::vector<std::string> told;
  Trainer next = trainer();
  const std::optional<ResumeReport> report = next.resume();
  ASSERT_TRUE(report);
  EXPECT_EQ(report->step, 11);
  const auto names_both =
      AllOf(HasSubstr(checkpoint_path(dir_, 16)), HasSubstr("cut off"), HasSubstr(checkpoint_path(dir_, 11)));
  EXPECT_THAT(report->warnings, ElementsAre(names_both));
  EXPECT_THAT(report->notes, ElementsAre(HasSubstr(checkpoint_path(dir_, 16) + ".abandoned")));
  const TrainResult result = next.run({.on_log = [&](std::string_view line) { told.emplace_back(line); }});
  EXPECT_THAT(told, ElementsAre(names_both, HasSubstr(".abandoned")));
  EXPECT_EQ(result.resumed, 11);
  EXPECT_EQ(outcome_of(result), expected);
  EXPECT_THAT(checkpoints_in(dir_), ElementsAre(5, 11, 26));
}

TEST_F(ResumedTraining, FailsIfEveryCheckpointIsDamaged) {
  interrupt_at({5, 11});
  cut(checkpoint_path(dir_, 5));
  cut(checkpoint_path(dir_, 11));
  Trainer next = trainer();
  EXPECT_THAT(error_of<DataError>([&] { next.resume(); }),
              AllOf(HasSubstr(checkpoint_path(dir_, 5)), HasSubstr(checkpoint_path(dir_, 11)), HasSubstr("move them")));
  EXPECT_THAT(checkpoints_in(dir_), ElementsAre(5, 11));
}

TEST_F(ResumedTraining, GoesOnFromAFile) {
  const std::string expected = outcome_of(undisturbed().run());
  interrupt_at({5, 11});
  Trainer from_older = trainer();
  const std::optional<ResumeReport> report = from_older.resume(checkpoint_path(dir_, 5));
  ASSERT_TRUE(report);
  EXPECT_EQ(report->step, 5);
  EXPECT_THAT(checkpoints_in(dir_), ElementsAre(5)) << "the others would be taken for newer ones";
  EXPECT_EQ(run_until(from_older, 8).resumed, 5);
  EXPECT_THAT(checkpoints_in(dir_), ElementsAre(5, 8));

  // From another place.
  // Not into the midst of others.
  const std::string elsewhere = folder_.path(std::filesystem::path(checkpoint_path(dir_, 11)).filename().string());
  std::filesystem::rename(checkpoint_path(dir_, 11) + ".abandoned", elsewhere);
  Trainer refused = trainer();
  EXPECT_THAT(error_of<ConfigError>([&] { refused.resume(elsewhere); }), HasSubstr("is not one of them"));
  std::filesystem::remove_all(dir_);
  Trainer moved = trainer();
  ASSERT_TRUE(moved.resume(elsewhere));
  const TrainResult result = moved.run();
  EXPECT_EQ(result.resumed, 11);
  EXPECT_EQ(outcome_of(result), expected);

  std::filesystem::remove_all(dir_);
  cut(elsewhere);
  Trainer damaged = trainer();
  EXPECT_THAT(error_of<DataError>([&] { damaged.resume(elsewhere); }), HasSubstr(elsewhere));
  EXPECT_THROW(trainer().resume(folder_.path("none.safetensors")), MissingError);
  const std::string model = folder_.path("m.safetensors");
  undisturbed().save(model);
  Trainer begun_with = trainer();
  EXPECT_THAT(error_of<DataError>([&] { begun_with.resume(model); }), HasSubstr("load"));
}

TEST_F(ResumedTraining, NeedsTheKey) {
  Trainer without = undisturbed();
  EXPECT_THAT(error_of<ConfigError>([&] { without.resume(); }), HasSubstr("checkpoint"));
  EXPECT_FALSE(std::filesystem::exists(dir_));
}

TEST_F(ResumedTraining, KeepsTheBestModelAndCountsPatienceOn) {
  folder_.write("validation.csv", TempFolder::read(folder_.path("part-3.csv")));
  const std::string model = folder_.path("m.safetensors");
  const std::string validation = cat("validation: {files: ", quote(folder_.path("validation.csv"), 4096),
                                     ", every: 2, keep_best: {metric: loss, mode: max}, patience: 5}\n");
  more_ = cat(validation, "save: ", quote(model, 4096), '\n');
  std::vector<std::string> expected;
  const auto tell = [](std::vector<std::string>& lines) {
    return TrainCallbacks{.on_validation = [&](const ValidationReport& report) {
      lines.push_back(cat(report.step, report.best ? ", best: " : ": ", scores_text(report.loss, report.metrics)));
    }};
  };
  const TrainResult whole = undisturbed().run(tell(expected));
  const std::string outcome = outcome_of(whole);
  const std::string saved = TempFolder::read(model);
  EXPECT_EQ(whole.reason, "no improvement") << "the test tries no patience";
  for (int64_t step = 1; step <= whole.steps; ++step) {
    std::filesystem::remove_all(dir_);
    std::vector<std::string> lines;
    Trainer first = trainer();
    run_until(first, step, tell(lines));
    Trainer second = trainer();
    const TrainResult result = run_on(second, tell(lines));
    EXPECT_EQ(outcome_of(result), outcome) << step;
    EXPECT_EQ(lines, expected) << step;
    EXPECT_TRUE(TempFolder::read(model) == saved) << step;
  }
}

// All steps are made and saved, but the validation after them is lacking.
TEST_F(ResumedTraining, ValidatesAfterTheLastStepIfThatWasStopped) {
  folder_.write("validation.csv", TempFolder::read(folder_.path("part-3.csv")));
  more_ = cat("validation: {files: ", quote(folder_.path("validation.csv"), 4096),
              ", every: 4, keep_best: loss}\ntrain: {steps: 22}\n");
  const std::string expected = outcome_of(undisturbed().run());
  Trainer first = trainer();
  const TrainResult stopped = first.run({.on_checkpoint = [&](const CheckpointReport&) { first.stop(); }});
  EXPECT_EQ(stopped.steps, 22);
  EXPECT_EQ(stopped.reason, "stopped");
  Trainer second = trainer();
  std::vector<int64_t> validated;
  const TrainResult result =
      run_on(second, {.on_validation = [&](const ValidationReport& report) { validated.push_back(report.step); }});
  EXPECT_THAT(validated, ElementsAre(22));
  EXPECT_EQ(result.reason, "steps");
  EXPECT_EQ(outcome_of(result), expected);
}

TEST_F(ResumedTraining, ReportsOnceBeforeTheFirstStep) {
  interrupt_at({9});
  std::vector<std::string> events;
  const auto tell = [&](const char* event) { return [&, event](const auto&) { events.emplace_back(event); }; };
  Trainer next = trainer();
  const std::optional<ResumeReport> expected = next.resume();
  ASSERT_TRUE(expected);
  run_until(next, 10,
            {.on_start = tell("start"),
             .on_batch = tell("batch"),
             .on_resume =
                 [&](const ResumeReport& report) {
                   EXPECT_EQ(report.step, 9);
                   EXPECT_EQ(report.file, expected->file);
                   events.emplace_back("resume");
                 },
             .on_checkpoint = tell("checkpoint")});
  EXPECT_THAT(events, ElementsAre("start", "resume", "batch", "checkpoint"));
}

}  // namespace
}  // namespace millrace::testing
