// The checkpoints that a Trainer writes: when, which stay, and what happens if one cannot be written.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <filesystem>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "millrace/trainer/trainer.h"
#include "tests/promises/training.h"
#include "tests/trainer/interrupted.h"

namespace millrace::testing {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

// A limit on the size of files stands for a full disk.
class FullDisk {
 public:
  FullDisk() {
    EXPECT_EQ(::getrlimit(RLIMIT_FSIZE, &before_), 0);
    const rlimit limit{1000, before_.rlim_max};
    EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  }
  ~FullDisk() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;

 private:
  void (*const handler_)(int) = std::signal(SIGXFSZ, SIG_IGN);
  rlimit before_{};
};

class WrittenCheckpoints : public ::testing::Test {
 protected:
  WrittenCheckpoints() { write_data(folder_); }

  Trainer trainer(std::string_view options, const std::string& more = {}) const {
    return make_trainer(folder_, {.more = checkpoint_key(dir_, options) + more});
  }
  std::string undisturbed() const { return outcome_of(make_trainer(folder_).run()); }
  // Reports and warnings of a run.
  TrainCallbacks telling(std::function<void(const BatchReport&)> on_batch = {}) {
    return {.on_batch = std::move(on_batch),
            .on_log = [this](std::string_view line) { log_.emplace_back(line); },
            .on_checkpoint =
                [this](const CheckpointReport& report) {
                  EXPECT_EQ(report.file, checkpoint_path(dir_, report.step));
                  EXPECT_TRUE(std::filesystem::exists(report.file));
                  reported_.push_back(report.step);
                }};
  }

  const TempFolder folder_;
  const std::string dir_ = folder_.path("runs/checkpoints");
  std::vector<int64_t> reported_;
  std::vector<std::string> log_;
};

TEST_F(WrittenCheckpoints, ComeWheneverOneIsDueAndAtTheEnd) {
  const std::string steps = "train: {steps: 20}\n";
  const TrainResult result = trainer("every: 1, keep: 1000", steps).run(telling());
  EXPECT_EQ(outcome_of(result), outcome_of(make_trainer(folder_, {.more = steps}).run()));
  // Whatever fell due while one was being written is in a later one.
  EXPECT_EQ(result.checkpoints.written + result.checkpoints.late, 20);
  EXPECT_EQ(result.checkpoints.failed, 0);
  EXPECT_EQ(result.checkpoints.failure, "");
  EXPECT_EQ(result.checkpoints.file, checkpoint_path(dir_, 20));
  EXPECT_GE(result.checkpoints.bytes, 4u * (6 * 40 + 40 + 40 + 1));
  EXPECT_GT(result.checkpoints.copy_seconds, 0);
  EXPECT_GT(result.checkpoints.write_seconds, 0);
  EXPECT_EQ(std::ssize(reported_), result.checkpoints.written);
  EXPECT_EQ(reported_.front(), 1);
  EXPECT_EQ(reported_.back(), 20);
  EXPECT_EQ(checkpoints_in(dir_), reported_);
  EXPECT_THAT(log_, SizeIs(0));
}

TEST_F(WrittenCheckpoints, ComeAfterMinutes) {
  trainer("minutes: 1e-9").run(telling());
  EXPECT_EQ(reported_.front(), 1);
  EXPECT_EQ(reported_.back(), 26);
  std::filesystem::remove_all(dir_);
  reported_.clear();
  trainer("minutes: 1000").run(telling());
  EXPECT_THAT(reported_, ElementsAre(26));
  std::filesystem::remove_all(dir_);
  reported_.clear();
  trainer("minutes: 1000, every: 20").run(telling());
  EXPECT_THAT(reported_, ElementsAre(20, 26));
}

TEST_F(WrittenCheckpoints, StayAsManyAsTheKeySays) {
  for (const size_t keep : {1u, 2u}) {
    std::filesystem::remove_all(dir_);
    for (const int64_t step : {4, 9, 15}) {
      Trainer one = trainer(cat("every: 1000, keep: ", keep));
      one.resume();
      run_until(one, step);
      EXPECT_LE(checkpoints_in(dir_).size(), keep);
    }
    EXPECT_EQ(checkpoints_in(dir_), keep == 1 ? std::vector<int64_t>{15} : std::vector<int64_t>({9, 15}));
  }
}

TEST_F(WrittenCheckpoints, ComeWhenTheyAreAskedFor) {
  for (const bool by_another_thread : {false, true}) {
    std::filesystem::remove_all(dir_);
    reported_.clear();
    Trainer one = trainer("every: 1000");
    const TrainResult result = one.run(telling([&](const BatchReport& report) {
      if (report.step != 3) return;
      if (by_another_thread) {
        std::thread([&] { one.checkpoint(); }).join();
      } else {
        one.checkpoint();
        one.checkpoint();
      }
    }));
    EXPECT_THAT(reported_, ElementsAre(3, 26));
    EXPECT_EQ(outcome_of(result), undisturbed());
    // It is one like any other.
    Trainer next = trainer("every: 1000");
    ASSERT_TRUE(next.resume(checkpoint_path(dir_, 3)));
    EXPECT_EQ(outcome_of(next.run()), undisturbed());
  }
  Trainer without = make_trainer(folder_);
  without.checkpoint();
  EXPECT_EQ(without.run({.on_checkpoint = [](const CheckpointReport&) { ADD_FAILURE(); }}).checkpoints.written, 0);
  without.checkpoint();
}

TEST_F(WrittenCheckpoints, MayBeAskedForBeforeAndAfterTheRun) {
  Trainer one = trainer("every: 1000");
  one.checkpoint();
  one.run(telling());
  one.checkpoint();
  EXPECT_THAT(reported_, ElementsAre(1, 26));
}

// The folder is a file for a while.
TEST_F(WrittenCheckpoints, FailWithoutEndingTheTraining) {
  const auto endless = [&](std::string more) {
    std::string yaml = training_yaml(folder_, {.more = std::move(more)});
    yaml.replace(yaml.find(", epochs: 2"), 11, "");
    return Trainer::from_spec(parse_yaml(yaml, "test.yaml"));
  };
  {
    Trainer first = endless(checkpoint_key(dir_, "every: 1000000"));
    run_until(first, 8);
  }
  const std::string away = folder_.path("away");
  Trainer second = endless(checkpoint_key(dir_, "every: 1000000"));
  ASSERT_TRUE(second.resume());
  bool back = false;
  const TrainResult result = second.run(telling([&](const BatchReport& report) {
    if (report.step == 12) {
      std::filesystem::rename(dir_, away);
      folder_.write("runs/checkpoints", "no folder");
      second.checkpoint();
    }
    if (!back && std::ranges::any_of(log_, [](const auto& line) { return line.find("step 12") != line.npos; })) {
      back = true;
      EXPECT_THAT(checkpoints_in(away), ElementsAre(8)) << "nothing was removed";
      std::filesystem::remove(dir_);
      std::filesystem::rename(away, dir_);
      second.checkpoint();
    }
    if (!reported_.empty()) second.stop();
  }));
  EXPECT_EQ(result.checkpoints.written, 2);
  EXPECT_EQ(result.checkpoints.failed, 1);
  EXPECT_THAT(result.checkpoints.failure, AllOf(HasSubstr(dir_), HasSubstr("Not a directory")));
  EXPECT_THAT(log_, Contains(AllOf(HasSubstr("checkpoint of step 12"), HasSubstr("Not a directory"))));
  EXPECT_THAT(checkpoints_in(dir_), ElementsAre(8, reported_[0], result.steps));
  EXPECT_EQ(endless(cat("train: {steps: ", result.steps, "}\n")).run().weights, result.weights);
}

TEST_F(WrittenCheckpoints, LeaveTheLastGoodOneOnAFullDisk) {
  {
    Trainer first = trainer("every: 1000, keep: 1");
    run_until(first, 5);
  }
  const std::string before = TempFolder::read(checkpoint_path(dir_, 5));
  TrainResult result;
  {
    const FullDisk full;
    Trainer second = trainer("every: 1, keep: 1");
    second.resume();
    result = second.run(telling());
  }
  EXPECT_EQ(outcome_of(result), undisturbed());
  EXPECT_EQ(result.checkpoints.written, 0);
  EXPECT_GT(result.checkpoints.failed, 1);
  EXPECT_GE(result.checkpoints.failed + result.checkpoints.late, 21);
  EXPECT_THAT(result.checkpoints.failure, HasSubstr("File too large"));
  EXPECT_THAT(log_, AllOf(SizeIs(result.checkpoints.failed), Each(HasSubstr("File too large"))));
  EXPECT_EQ(result.checkpoints.file, checkpoint_path(dir_, 5));
  EXPECT_THAT(checkpoints_in(dir_), ElementsAre(5));
  EXPECT_EQ(TempFolder::read(checkpoint_path(dir_, 5)), before);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(dir_), {}), 2) << "the checkpoint and the lock";

  Trainer third = trainer("every: 1000");
  const TrainResult again = run_on(third);
  EXPECT_EQ(again.resumed, 5);
  EXPECT_EQ(outcome_of(again), undisturbed());
}

TEST_F(WrittenCheckpoints, BelongToOneTrainingAtATime) {
  std::array<char, 256> host{};
  ASSERT_EQ(::gethostname(host.data(), host.size() - 1), 0);
  const auto names_the_other =
      AllOf(HasSubstr(dir_), HasSubstr(host.data()), HasSubstr(cat("process ", ::getpid())), HasSubstr("of its own"));
  Trainer first = trainer("every: 1000");
  {
    const TrainResult result = first.run(telling([&](const BatchReport& report) {
      if (report.step != 7) return;
      Trainer second = trainer("every: 1000");
      EXPECT_THAT(error_of<ConfigError>([&] { second.run(); }), names_the_other);
      EXPECT_EQ(second.steps(), 0);
      Trainer third = trainer("every: 1000");
      EXPECT_THAT(error_of<ConfigError>([&] { third.resume(); }), names_the_other);
    }));
    EXPECT_EQ(outcome_of(result), undisturbed());
  }
  Trainer next = trainer("every: 1000");
  EXPECT_EQ(run_on(next).resumed, 26) << "the first one, which has ended, holds the folder";
}

TEST_F(WrittenCheckpoints, AreThereWhenACallbackThrows) {
  Trainer one = trainer("every: 1000");
  EXPECT_THROW(one.run({.on_batch =
                            [&](const BatchReport& report) {
                              if (report.step == 5) one.checkpoint();
                            },
                        .on_checkpoint = [](const CheckpointReport&) { throw std::runtime_error("enough"); }}),
               std::runtime_error);
  EXPECT_LT(one.steps(), 27);
  EXPECT_EQ(checkpoints_in(dir_).front(), 5);
  EXPECT_THROW(one.run(), CallError);
  EXPECT_EQ(error_of<CallError>([&] { one.resume(); }),
            "the training has begun already; make another trainer of the same configuration");
}

TEST_F(WrittenCheckpoints, AreWhatIsLeftOfATrainingThatFails) {
  std::string rows = TempFolder::read(folder_.path("part-6.csv"));
  rows.replace(rows.rfind('\n', rows.size() - 2) + 1, 1, "x");
  folder_.write("part-6.csv", rows);
  std::string failure;
  int64_t steps = 0;
  {
    Trainer one = trainer("every: 3, keep: 1000");
    failure = error_of<DataError>([&] { one.run(); });
    steps = one.steps();
    ASSERT_GE(steps, 3);
  }
  EXPECT_EQ(checkpoints_in(dir_).front(), 3);
  Trainer next = trainer("every: 3, keep: 1000");
  ASSERT_TRUE(next.resume());
  EXPECT_EQ(error_of<DataError>([&] { next.run(); }), failure);
  EXPECT_EQ(next.steps(), steps);
}

}  // namespace
}  // namespace millrace::testing
