// What a Trainer does with checkpoints: tests/trainer/trainer_checkpoint_test.cpp.
#include "millrace/trainer/checkpoint/checkpoints.h"

#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <thread>

#include "millrace/trainer/checkpoint/checkpoint_folder.h"
#include "tests/support/temp_folder.h"
#include "tests/trainer/checkpoint/open_training.h"

namespace millrace {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::OpenTraining;

// Lets no write through until it is opened.
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
    if (call == "rename") changed_.wait(lock, [this] { return open_; });
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
    checkpoints->at_border(training.steps(), training.steps() % 4 == 0);  // waits for it
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
  EXPECT_GT(summary.write_seconds, summary.copy_seconds);
  EXPECT_THAT(training.lines(), Contains("written: step 8"));
}

TEST_F(CheckpointsTest, AreWrittenAtTheFirstBorderIfOneWasBeingWritten) {
  Gate gate;
  OpenTraining training(spec("every: 2"));
  const auto checkpoints = Checkpoints::make(training.checkpoints_args(gate));
  checkpoints->begin();
  training.run([&] {
    const int64_t step = training.steps();
    const bool kept = checkpoints->at_border(step, false);
    EXPECT_EQ(kept, step == 0) << "until it is on the disk";
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

TEST_F(CheckpointsTest, RecordHowLongFilesWere) {
  const std::string log = temp_.path("log.jsonl"), other = temp_.path("other.jsonl");
  {
    OpenTraining training(spec("every: 1000"));
    const auto checkpoints = Checkpoints::make(training.checkpoints_args());
    checkpoints->appends_to(log);
    checkpoints->appends_to(other);
    checkpoints->begin();
    training.run();
    temp_.write("log.jsonl", "one\ntwo\n");
    checkpoints->at_border(10, true);
  }
  const auto resume = [&] {
    OpenTraining training(spec("every: 1000"));
    const auto checkpoints = Checkpoints::make(training.checkpoints_args());
    checkpoints->appends_to(log);
    checkpoints->appends_to(other);
    const auto report = checkpoints->resume("");
    return report ? report->step : -1;
  };
  temp_.write("log.jsonl", "one\ntwo\nthree\n");
  temp_.write("other.jsonl", "there was none\n");
  EXPECT_EQ(resume(), 10);
  EXPECT_EQ(TempFolder::read(log), "one\ntwo\n");
  EXPECT_EQ(TempFolder::read(other), "");
  std::filesystem::remove(log);
  EXPECT_EQ(resume(), 10) << "somebody took it away";
  temp_.write("log.jsonl", "one\n");
  try {
    resume();
    FAIL();
  } catch (const DataError& error) {
    EXPECT_THAT(error.what(), HasSubstr("log.jsonl: the file has 4 bytes, but there were 8"));
  }
}

}  // namespace
}  // namespace millrace
