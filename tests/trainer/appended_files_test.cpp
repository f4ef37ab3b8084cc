// Trainer::appends_to(): files that a program writes line by line hold every line once, however often the training
// ends.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "millrace/core/errors.h"
#include "millrace/core/random.h"
#include "millrace/core/text.h"
#include "millrace/trainer/trainer.h"
#include "tests/promises/training.h"
#include "tests/support/run_apart.h"
#include "tests/trainer/interrupted.h"

namespace millrace::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr int64_t kSteps = 150;

class AppendedFiles : public ::testing::Test {
 protected:
  AppendedFiles() { write_data(folder_); }

  Trainer trainer(const std::string& more = {}) const {
    std::string yaml = training_yaml(folder_, {.more = cat("train: {log_every: 1, steps: ", kSteps, "}\n", more)});
    yaml.replace(yaml.find(", epochs: 2"), 11, "");
    return Trainer::from_spec(parse_yaml(yaml, "test.yaml"));
  }
  Trainer logged() const {
    Trainer out = trainer(checkpoint_key(dir_, "every: 3"));
    out.appends_to(steps_);
    out.appends_to(tens_);
    return out;
  }
  // Appends a line for each step to one file, and one for every tenth to the other.
  TrainCallbacks logging() const {
    return {.on_step = [this](const StepReport& report) {
      const std::string line = cat(report.step, ": ", scores_text(report.loss, report.metrics), '\n');
      std::ofstream(steps_, std::ios::app) << line;
      if (report.step % 10 == 0) std::ofstream(tens_, std::ios::app) << line;
    }};
  }
  // Trains in a process of its own, which is killed `steps` steps after its first one, or after its first checkpoint.
  int train_and_die(uint64_t steps, bool after_a_checkpoint) const {
    return test::run_apart([&] {
      try {
        Trainer one = logged();
        if (!one.resume()) begin_anew();
        const std::vector<int64_t> before = checkpoints_in(dir_);
        TrainCallbacks callbacks = logging();
        uint64_t count = 0;
        callbacks.on_step = [&, log = callbacks.on_step](const StepReport& report) {
          log(report);
          ++count;
          while (after_a_checkpoint && count == 4 && checkpoints_in(dir_) == before) std::this_thread::yield();
          if (count > (after_a_checkpoint ? 4 + steps : steps)) ::kill(::getpid(), SIGKILL);
        };
        one.run(callbacks);
      } catch (const std::exception&) {
        ::_exit(1);
      }
    });
  }

  void begin_anew() const {
    std::filesystem::remove(steps_);
    std::filesystem::remove(tens_);
  }

  const TempFolder folder_;
  const std::string dir_ = folder_.path("checkpoints"), steps_ = folder_.path("steps.log"),
                    tens_ = folder_.path("tens.log");
};

TEST_F(AppendedFiles, HaveEveryLineOnceHoweverOftenTheProgramIsKilled) {
  const TrainResult undisturbed = trainer().run(logging());
  const std::string steps = TempFolder::read(steps_), tens = TempFolder::read(tens_);
  begin_anew();
  for (uint64_t attempt = 0; attempt < 16; ++attempt) {
    ASSERT_EQ(train_and_die(philox64(3, 0, attempt) % 9, attempt % 2 == 0), SIGKILL) << attempt;
  }
  Trainer last = logged();
  const TrainResult result = run_on(last, logging());
  EXPECT_TRUE(result.resumed);
  EXPECT_EQ(result.weights, undisturbed.weights);
  EXPECT_EQ(TempFolder::read(steps_), steps);
  EXPECT_EQ(TempFolder::read(tens_), tens);
}

TEST_F(AppendedFiles, AreCutOnlyByAResume) {
  folder_.write("steps.log", "from before\n");
  Trainer first = logged();
  run_until(first, 2, logging());
  const std::string on_record = TempFolder::read(steps_);
  EXPECT_TRUE(on_record.starts_with("from before\n1: loss"));
  std::ofstream(steps_, std::ios::app) << "more\n";
  Trainer fresh = logged();
  EXPECT_THROW(fresh.run(logging()), ConfigError);
  EXPECT_EQ(TempFolder::read(steps_), on_record + "more\n");
  Trainer second = logged();
  ASSERT_TRUE(second.resume());
  EXPECT_EQ(TempFolder::read(steps_), on_record);
}

TEST_F(AppendedFiles, ThatAreNotOnRecordStayAsTheyAre) {
  {
    Trainer first = trainer(checkpoint_key(dir_, "every: 1000"));
    run_until(first, 2);
  }
  folder_.write("steps.log", "of somebody else\n");
  Trainer second = logged();
  ASSERT_TRUE(second.resume());
  EXPECT_EQ(TempFolder::read(steps_), "of somebody else\n");
  EXPECT_FALSE(std::filesystem::exists(tens_));
}

TEST_F(AppendedFiles, AreNamedBeforeTheResume) {
  Trainer late = trainer(checkpoint_key(dir_, "every: 1000"));
  late.resume();
  EXPECT_THROW(late.appends_to(tens_), CallError);
}

TEST_F(AppendedFiles, ThatAreTooShortAreAnError) {
  {
    Trainer first = trainer(checkpoint_key(dir_, "every: 1000"));
    first.appends_to(tens_);
    run_until(first, 12, logging());
  }
  std::filesystem::resize_file(tens_, 3);
  Trainer second = logged();
  EXPECT_THAT(error_of<DataError>([&] { second.resume(); }), AllOf(HasSubstr(tens_), HasSubstr("has 3 bytes")));
}

}  // namespace
}  // namespace millrace::testing
