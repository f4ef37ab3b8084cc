// tests/trainer/written_checkpoints_test.cpp and resumed_training_test.cpp test checkpoints through a Trainer.
#include "millrace/trainer/checkpoints.h"

#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <thread>

#include "millrace/core/errors.h"
#include "millrace/trainer/checkpoint/checkpoint_folder.h"
#include "tests/support/temp_folder.h"
#include "tests/trainer/checkpoint/open_training.h"

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::OpenTraining;

// Holds back what gives a file its name, so that no checkpoint is finished before the gate is opened.
class Gate final : public FileCalls {
 public:
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }

 protected:
  int before(std::string_view call) override {
    std::unique_lock lock(mutex_);
    if (call == "link" || call == "rename") changed_.wait(lock, [this] { return open_; });
    return 0;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
};

class FullDisk final : public FileCalls {
 public:
  std::atomic<bool> full{true};

 protected:
  int before(std::string_view call) override { return call == "write" && full.load() ? ENOSPC : 0; }
};

// Has tensors only at a later step, as a validation has a best model.
class LaterTensors final : public TrainingPart {
 public:
  explicit LaterTensors(int count) : count_(count) {}
  void save(State&) override {}
  void restore(const State&) override {}
  void list(std::vector<NamedTensor>& out, bool all) override {
    for (int i = 0; all && i < count_; ++i) out.push_back({cat("best/", i), TensorView(nullptr, DType::f32, {1})});
  }

 private:
  const int count_;
};

class CheckpointsTest : public ::testing::Test {
 protected:
  Spec spec(const std::string& checkpoint) {
    std::string text;
    for (int i = 0; i < 40; ++i) text += cat(i, ",1,", i % 2, '\n');
    return testing::training_spec(
        cat("seed: 5\ndevice: cpu\nthreads: 1\ninput:\n  - filename_queue: {files: ",
            quote(temp_.write("rows.csv", text), 4096),
            ", epochs: 1}\n  - csv_reader\n"
            "  - decode_csv: {fields: {features: {columns: 0-1}, label: {columns: 2}}}\n  - batch: {batch_size: 4}\n"
            "model: [{dense: {units: 4}}, {dense: {units: 1}}]\nloss: mse\n"
            "optimizer: {adam: {learning_rate: 0.001}}\n"
            "checkpoint: {dir: ",
            quote(dir_, 4096), ", keep: 100, ", checkpoint, "}\n"));
  }
  std::vector<uint64_t> steps() const {
    std::vector<uint64_t> out;
    for (const ListedCheckpoint& one : list_checkpoints(dir_)) out.push_back(one.step);
    return out;
  }

  TempFolder temp_;
  std::string dir_ = temp_.path("runs");
};

TEST_F(CheckpointsTest, AreWrittenWhenTheyAreDueAndAtTheEnd) {
  OpenTraining training(spec("every: 4"));
  const auto checkpoints = Checkpoints::make(training.checkpoints_args());
  checkpoints->begin();
  training.run([&] {
    checkpoints->at_border(training.steps(), false);
    checkpoints->at_border(training.steps(), training.steps() % 4 == 0);  // waits for the checkpoint
  });
  EXPECT_TRUE(checkpoints->at_border(10, true));
  EXPECT_THAT(steps(), ElementsAre(4, 8, 10));
  const CheckpointSummary& summary = checkpoints->summary();
  EXPECT_EQ(summary.written, 3);
  EXPECT_EQ(summary.late, 0);
  EXPECT_EQ(summary.failed, 0);
  EXPECT_EQ(summary.file, dir_ + "/checkpoint-000000010.safetensors");
  // Parameters, adam's two slots, 4 bytes each.
  EXPECT_EQ(summary.bytes, (2 * 4 + 4 + 4 + 1) * 4 * 3u);
  EXPECT_GE(checkpoints->memory_bound(), summary.bytes);
  EXPECT_GT(summary.copy_seconds, 0);
  EXPECT_GT(summary.write_seconds, 0);
  EXPECT_THAT(training.lines(), Contains("written: step 8"));
}

TEST_F(CheckpointsTest, ThatCouldNotBeReadAgainAreRefusedAtTheStart) {
  OpenTraining training(spec("every: 4"));
  const auto make = [&](int later) {
    LaterTensors part(later);
    CheckpointsArgs args = training.checkpoints_args();
    args.parts.validation = &part;
    Checkpoints::make(args);
  };
  // Four parameters, adam's two slots of each, and "state".
  const int most = 65536 - 4 * 3 - 1;
  EXPECT_NO_THROW(make(most));
  EXPECT_THAT(error_of<ConfigError>([&] { make(most + 1); }),
              AllOf(HasSubstr("checkpoint: the model file would hold 65537 tensors"), HasSubstr("at most 65536 and")));
}

TEST_F(CheckpointsTest, AreWrittenAtTheFirstBorderIfOneWasBeingWritten) {
  Gate gate;
  OpenTraining training(spec("every: 2"));
  const auto checkpoints = Checkpoints::make(training.checkpoints_args(gate));
  checkpoints->begin();
  training.run([&] {
    const int64_t step = training.steps();
    const bool kept = checkpoints->at_border(step, false);
    EXPECT_EQ(kept, step == 0 || step == 2 || step == 8 || step == 10) << step;
    if (step > 7) checkpoints->at_border(step, true);
    if (step != 7) return;
    gate.open();
    while (checkpoints->summary().written == 0) checkpoints->at_border(step, false);
    checkpoints->at_border(step, true);
  });
  checkpoints->at_border(10, true);
  EXPECT_EQ(checkpoints->summary().late, 2) << "4 and 6; 7 takes their place";
  EXPECT_EQ(steps().front(), 2u);
  EXPECT_EQ(steps().at(1), 7u);
  EXPECT_EQ(steps().back(), 10u);
}

TEST_F(CheckpointsTest, AreWrittenWhenSomebodyAsks) {
  OpenTraining training(spec("every: 1000"));
  const auto checkpoints = Checkpoints::make(training.checkpoints_args());
  checkpoints->begin();
  training.run([&] {
    if (training.steps() == 3) checkpoints->ask();
    checkpoints->at_border(training.steps(), false);
  });
  checkpoints->at_border(10, true);
  EXPECT_THAT(steps(), ElementsAre(3, 10));
}

TEST_F(CheckpointsTest, AreWrittenAfterSomeMinutes) {
  OpenTraining training(spec("minutes: 0.0005"));
  const auto checkpoints = Checkpoints::make(training.checkpoints_args());
  checkpoints->begin();
  training.run([&] {
    if (training.steps() == 6) std::this_thread::sleep_for(std::chrono::milliseconds(31));
    checkpoints->at_border(training.steps(), false);
  });
  checkpoints->at_border(10, true);
  EXPECT_THAT(steps(), Contains(6u));
}

TEST_F(CheckpointsTest, FailWithoutHarm) {
  FullDisk disk;
  OpenTraining training(spec("every: 2"));
  const auto checkpoints = Checkpoints::make(training.checkpoints_args(disk));
  checkpoints->begin();
  training.run([&] {
    disk.full.store(training.steps() < 5);
    checkpoints->at_border(training.steps(), false);
    if (training.steps() == 2) checkpoints->at_border(2, true);
  });
  checkpoints->at_border(10, true);
  const CheckpointSummary& summary = checkpoints->summary();
  EXPECT_GE(summary.failed, 2);
  EXPECT_THAT(summary.failure, HasSubstr("No space left"));
  EXPECT_GE(summary.written, 1);
  EXPECT_EQ(steps().back(), 10u);
  EXPECT_THAT(training.lines(), Contains(HasSubstr("the checkpoint of step 2 was not written")));
}

TEST_F(CheckpointsTest, ThatLostALineOfTheLogArePassedOver) {
  const std::string log = temp_.path("log.jsonl");
  const auto train = [&](int64_t last) {
    OpenTraining training(spec("every: 4"));
    const auto checkpoints = Checkpoints::make(training.checkpoints_args());
    checkpoints->appends_to(log);
    checkpoints->begin();
    training.run([&] {
      const int64_t step = training.steps();
      temp_.write("log.jsonl", std::string(static_cast<size_t>(step), 'x'));
      if (step % 4 == 0 && step <= last) checkpoints->at_border(step, true);
    });
  };
  const auto resume = [&] {
    OpenTraining training(spec("every: 4"));
    const auto checkpoints = Checkpoints::make(training.checkpoints_args());
    checkpoints->appends_to(log);
    return checkpoints->resume("");
  };
  train(8);
  EXPECT_THAT(steps(), ElementsAre(4, 8));
  temp_.write("log.jsonl", "xxxxx");
  std::optional<ResumeReport> report = resume();
  ASSERT_TRUE(report);
  EXPECT_EQ(report->step, 4);
  EXPECT_THAT(report->warnings, ElementsAre(AllOf(HasSubstr("log.jsonl: the file has 5 bytes, but there were 8"),
                                                  HasSubstr("checkpoint-000000004"))));
  EXPECT_EQ(TempFolder::read(log), "xxxx");
  temp_.write("log.jsonl", "x");
  EXPECT_TRUE(error_of<DataError>(resume).ends_with(cat("; move ", log, " away to go on with another one")));
  std::filesystem::remove(log);
  report = resume();
  ASSERT_TRUE(report);
  EXPECT_EQ(report->step, 4);
  EXPECT_THAT(report->warnings, ElementsAre(cat(log, ": the file is gone: another one begins after step 4")));
}

TEST_F(CheckpointsTest, CannotBeginAfterAResumeThatFailed) {
  {
    OpenTraining training(spec("every: 4"));
    const auto checkpoints = Checkpoints::make(training.checkpoints_args());
    checkpoints->begin();
    training.run();
    checkpoints->at_border(10, true);
  }
  Spec other = spec("every: 4");
  apply_overrides(other, std::vector<std::string>{"seed=6"}, Catalog::builtin());
  OpenTraining training(other);
  const auto checkpoints = Checkpoints::make(training.checkpoints_args());
  EXPECT_THROW(checkpoints->resume(""), ConfigError);
  EXPECT_THROW(checkpoints->begin(), CallError);
  EXPECT_THROW(checkpoints->resume(""), CallError);
  const CheckpointFolder free(dir_);
}

TEST_F(CheckpointsTest, AreNotWrittenOverWhereTheTrainingGoesOn) {
  {
    OpenTraining training(spec("every: 4"));
    const auto checkpoints = Checkpoints::make(training.checkpoints_args());
    checkpoints->begin();
    training.run();
    checkpoints->at_border(10, true);
  }
  const std::string file = dir_ + "/checkpoint-000000010.safetensors", bytes = TempFolder::read(file);
  const std::string link = temp_.path("link");
  std::filesystem::create_symlink(file, link);
  const auto resume = [&](const std::vector<std::string>& overrides, const std::string& appended,
                          const std::string& written) {
    Spec changed = spec("every: 4");
    apply_overrides(changed, overrides, Catalog::builtin());
    OpenTraining training(changed);
    CheckpointsArgs args = training.checkpoints_args();
    if (!written.empty()) args.written = {written};
    const auto checkpoints = Checkpoints::make(args);
    if (!appended.empty()) checkpoints->appends_to(appended);
    checkpoints->resume(file);
  };
  const std::string what =
      cat("checkpoint: ", quote(file, 4096), " is the checkpoint to go on from, and this run writes it, too");
  EXPECT_THAT(error_of<ConfigError>([&] { resume({}, link, ""); }), HasSubstr(what));
  EXPECT_THAT(error_of<ConfigError>([&] { resume({}, "", link); }), HasSubstr(what));
  EXPECT_THAT(error_of<ConfigError>([&] { resume({"save=" + quote(link, 4096)}, "", ""); }), HasSubstr(what));
  EXPECT_EQ(TempFolder::read(file), bytes);
  EXPECT_NO_THROW(resume({"save=" + quote(temp_.path("m"), 4096)}, temp_.path("log"), temp_.path("bad")));
}

TEST_F(CheckpointsTest, OfAnotherTrainingAreNotMixedIn) {
  const auto end = [&](const std::string& file) {
    OpenTraining training(spec("every: 4"));
    const auto checkpoints = Checkpoints::make(training.checkpoints_args());
    const auto report = checkpoints->resume(file);
    checkpoints->begin();
    training.run();
    checkpoints->at_border(10, true);
    return report ? report->file : "";
  };
  EXPECT_EQ(end(""), "");
  const std::string moved = temp_.path("checkpoint-000000010.safetensors");
  std::filesystem::copy(dir_ + "/checkpoint-000000010.safetensors", moved);
  try {
    end(moved);
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(), HasSubstr("holds checkpoints of a training, and"));
  }
  EXPECT_EQ(end(dir_ + "/checkpoint-000000010.safetensors"), dir_ + "/checkpoint-000000010.safetensors");
  dir_ = temp_.path("elsewhere");
  EXPECT_EQ(end(moved), moved);
}

}  // namespace
}  // namespace millrace
