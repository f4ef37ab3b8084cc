// P3, P6, P7: failures arrive where the caller is, complete, after the same number of steps; the library is a guest.
#include <gtest/gtest.h>

#include <cmath>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include "tests/promises/training.h"

namespace millrace::testing {
namespace {

size_t count_entries(const char* folder) {
  size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder)) ++count;
  return count;
}

TEST(Failure, ABadValueIsTheSameErrorAfterTheSameStepsForAnyThreads) {
  TempFolder folder;
  write_data(folder);
  std::ofstream(folder.path("part-3.csv"), std::ios::app) << "1,2,oops,4,5,6,text,1.0\n";
  std::string expected;
  int64_t expected_steps = -1;
  for (int threads : {1, 2, 3, 8}) {
    for (int chunk_bytes : {1, 200, 262144}) {
      Trainer trainer =
          make_trainer(folder, {.threads = threads, .decode_threads = threads, .chunk_bytes = chunk_bytes});
      try {
        trainer.run();
        FAIL() << "the bad value went unnoticed";
      } catch (const DataError& error) {
        if (expected_steps < 0) {
          expected = error.what();
          expected_steps = trainer.steps();
          EXPECT_EQ(error.place().file, folder.path("part-3.csv"));
          EXPECT_EQ(error.place().line, 36);  // 29 records, 6 of them over two lines, and one more
          EXPECT_EQ(error.place().column, 5);
          EXPECT_NE(error.message().find("oops"), std::string::npos);
        }
        EXPECT_EQ(error.what(), expected);
        EXPECT_EQ(trainer.steps(), expected_steps);
      }
    }
  }
}

TEST(Failure, ABadValueIsTheSameErrorAfterTheSameStepsForAnyDelivery) {
  TempFolder folder;
  write_data(folder);
  std::ofstream(folder.path("part-3.csv"), std::ios::app) << "1,2,oops,4,5,6,text,1.0\n";
  std::string expected;
  int64_t expected_steps = -1;
  for (const char* delivery : {"native", "feed", "queue", "{kind: queue, capacity: 1}", "staging"}) {
    for (int threads : {1, 3}) {
      Trainer trainer = make_trainer(folder, {.threads = threads, .delivery = delivery});
      try {
        trainer.run();
        FAIL() << "the bad value went unnoticed";
      } catch (const DataError& error) {
        if (expected_steps < 0) {
          expected = error.what();
          expected_steps = trainer.steps();
        }
        EXPECT_EQ(error.what(), expected) << delivery;
        EXPECT_EQ(trainer.steps(), expected_steps) << delivery;
      }
    }
  }
}

TEST(Failure, ThreadsAndDescriptorsAreGoneAfterwards) {
  TempFolder folder;
  write_data(folder);
  std::ofstream(folder.path("part-3.csv"), std::ios::app) << "1,2\n";
  EXPECT_THROW(make_trainer(folder).run(), DataError);
  const size_t threads = count_entries("/proc/self/task"), descriptors = count_entries("/proc/self/fd");
  for (int i = 0; i < 20; ++i) {
    EXPECT_THROW(make_trainer(folder, {.threads = 4}).run(), DataError);
  }
  EXPECT_EQ(count_entries("/proc/self/task"), threads);
  EXPECT_EQ(count_entries("/proc/self/fd"), descriptors);
}

TEST(Failure, StopFromAnotherThreadEndsTheRun) {
  TempFolder folder;
  write_data(folder);
  std::string yaml = training_yaml(folder, {});
  yaml.replace(yaml.find(", epochs: 2"), 11, "");
  Trainer trainer = Trainer::from_spec(parse_yaml(yaml + "train: {log_every: 1}\n", "test.yaml"));
  std::thread stopper;
  TrainCallbacks callbacks;
  callbacks.on_step = [&](const StepReport& report) {
    if (report.step == 50) stopper = std::thread([&] { trainer.stop(); });
  };
  const TrainResult result = trainer.run(callbacks);
  stopper.join();
  EXPECT_EQ(result.reason, "stopped");
  EXPECT_GE(result.steps, 50);
}

TEST(Failure, StopBeforeTheStartTrainsNothing) {
  TempFolder folder;
  write_data(folder);
  Trainer trainer = make_trainer(folder);
  trainer.stop();
  const TrainResult result = trainer.run();
  EXPECT_EQ(result.reason, "stopped");
  EXPECT_EQ(result.steps, 0);
  EXPECT_TRUE(std::isnan(result.loss));
}

TEST(Failure, AnExceptionOfACallbackReachesTheCaller) {
  TempFolder folder;
  write_data(folder);
  Trainer trainer = make_trainer(folder, {.more = "train: {log_every: 1}\n"});
  TrainCallbacks callbacks;
  callbacks.on_step = [](const StepReport& report) {
    if (report.step == 3) throw std::runtime_error("enough");
  };
  EXPECT_THROW(trainer.run(callbacks), std::runtime_error);
  EXPECT_EQ(trainer.steps(), 3);
}

TEST(Failure, WhateverACallbackThrowsReachesTheCaller) {
  TempFolder folder;
  write_data(folder);
  TrainCallbacks callbacks;
  callbacks.on_batch = [](const BatchReport& report) {
    if (report.step == 2) throw 5;
  };
  Trainer trainer = make_trainer(folder);
  EXPECT_THROW(trainer.run(callbacks), int);
  EXPECT_EQ(trainer.steps(), 2);
}

// Lines of `print` are told in the middle of the input.
TEST(Failure, WhatOnLogThrowsIsNotTakenForAnErrorOfAnOp) {
  TempFolder folder;
  write_data(folder);
  for (const char* delivery : {"native", "queue", "feed"}) {
    Trainer trainer = make_trainer(folder, {.delivery = delivery, .op = "print: {every: 20}"});
    TrainCallbacks callbacks;
    callbacks.on_log = [](std::string_view) { throw 5; };
    try {
      trainer.run(callbacks);
      ADD_FAILURE() << delivery;
    } catch (const InternalError& error) {
      EXPECT_EQ(error.message(), "on_log: an exception of unknown type") << delivery;
    }
  }
}

volatile std::sig_atomic_t interrupted = 0;

TEST(Failure, AFlagThatASignalHandlerSetsEndsTheRun) {
  TempFolder folder;
  write_data(folder);
  Trainer trainer = make_trainer(folder, {.more = "train: {log_every: 1}\n"});
  TrainCallbacks callbacks;
  callbacks.on_step = [&](const StepReport& report) {
    if (report.step == 3) std::raise(SIGUSR1);
    if (interrupted != 0) trainer.stop();
  };
  const auto before = std::signal(SIGUSR1, [](int) { interrupted = 1; });
  const TrainResult result = trainer.run(callbacks);
  std::signal(SIGUSR1, before);
  EXPECT_EQ(result.reason, "stopped");
  EXPECT_EQ(result.steps, 3);
}

TEST(Failure, ARunThatFailedToBeginLeavesATrainerThatAnswers) {
  TempFolder folder;
  write_data(folder);
  Trainer trainer = make_trainer(folder);
  TrainCallbacks callbacks;
  callbacks.on_start = [](const StartReport&) { throw std::runtime_error("not now"); };
  EXPECT_THROW(trainer.run(callbacks), std::runtime_error);
  EXPECT_THROW(trainer.run(), CallError);
  EXPECT_EQ(trainer.input().output().batch_size, 16);
  EXPECT_GT(trainer.memory_bound(), 0u);
  EXPECT_EQ(trainer.steps(), 0);
  trainer.stop();
}

TEST(Failure, ATrainerRunsOnce) {
  TempFolder folder;
  write_data(folder);
  Trainer trainer = make_trainer(folder);
  trainer.run();
  EXPECT_THROW(trainer.run(), CallError);
}

TEST(Guest, NothingIsPrinted) {
  TempFolder folder;
  write_data(folder);
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  make_trainer(folder, {.threads = 8, .capacity = 21}).run();
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

TEST(Typo, AnyUnknownKeyStopsBeforeTheFirstStep) {
  TempFolder folder;
  write_data(folder);
  const std::string yaml = training_yaml(folder, {});
  for (const std::string key : {"seed",
                                "device",
                                "threads",
                                "input",
                                "files",
                                "epochs",
                                "chunk_bytes",
                                "fields",
                                "columns",
                                "batch_size",
                                "capacity",
                                "min_after_dequeue",
                                "allow_smaller_final_batch",
                                "delivery",
                                "model",
                                "units",
                                "activation",
                                "loss",
                                "metrics",
                                "optimizer",
                                "learning_rate",
                                "dense",
                                "csv_reader",
                                "sigmoid_cross_entropy",
                                "accuracy",
                                "relu",
                                "sgd",
                                "shuffle_batch"}) {
    const size_t at = yaml.find(key);
    ASSERT_NE(at, std::string::npos) << key;
    const std::string_view text = yaml;
    const std::string broken = cat(text.substr(0, at + key.size() / 2), 'x', text.substr(at + key.size() / 2));
    EXPECT_THROW(Trainer::from_spec(parse_yaml(broken, "test.yaml")), ConfigError) << broken;
  }
}

}  // namespace
}  // namespace millrace::testing
