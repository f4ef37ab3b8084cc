// P1: same seed, same bytes, whatever the threads, capacities, chunk sizes, deliveries and surroundings.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <clocale>
#include <string>
#include <thread>
#include <vector>

#include "millrace/input/csv/kernels/kernels.h"
#include "tests/promises/training.h"
#include "tests/support/host_mode.h"

namespace millrace::testing {
namespace {

class SameBytes : public ::testing::Test {
 protected:
  void SetUp() override { write_data(folder_); }

  TrainResult train(const Setting& setting, const TrainCallbacks& callbacks = {}) {
    return make_trainer(folder_, setting).run(callbacks);
  }

  TempFolder folder_;
};

TEST_F(SameBytes, ForEveryNumberOfThreadsChunkSizeAndCapacity) {
  const TrainResult expected = train({.threads = 1, .decode_threads = 1});
  EXPECT_EQ(expected.steps, 26);  // 406 rows in batches of 16, the last of 6
  EXPECT_EQ(expected.last_batch, 6);
  for (int threads : {1, 2, 3, 8}) {
    for (int chunk_bytes : {1, 100, 1000, 262144}) {
      for (int capacity : {40, 1000}) {
        const TrainResult result =
            train({.threads = threads, .decode_threads = threads, .chunk_bytes = chunk_bytes, .capacity = capacity});
        ASSERT_EQ(result.weights, expected.weights) << threads << ' ' << chunk_bytes << ' ' << capacity;
        ASSERT_EQ(result.loss, expected.loss);
        ASSERT_EQ(result.steps, expected.steps);
      }
    }
  }
}

TEST_F(SameBytes, ForEveryDelivery) {
  const TrainResult expected = train({});
  for (int threads : {1, 3}) {
    EXPECT_EQ(train({.threads = threads, .delivery = "feed"}).weights, expected.weights);
    EXPECT_EQ(train({.threads = threads, .delivery = "{kind: native}"}).weights, expected.weights);
    EXPECT_EQ(train({.threads = threads, .delivery = "staging"}).weights, expected.weights);
    for (const int capacity : {1, 2, 50}) {
      const std::string queue = cat("{kind: queue, capacity: ", capacity, ", threads: ", threads, '}');
      EXPECT_EQ(train({.threads = threads, .delivery = queue}).weights, expected.weights) << queue;
    }
  }
}

// However far a delivery works ahead, the file holds the bad rows before the last step.
TEST_F(SameBytes, OfTheReportOfBadRowsForEveryDelivery) {
  std::string text;
  for (int row = 0; row < 3000; ++row) text += row % 3 == 0 ? "1,x,2,3,4,5,t,1\n" : cat(row % 7, ",1,2,3,4,5,t,0\n");
  for (int file = 0; file < kFiles; ++file) folder_.write(cat("part-", file, ".csv"), text);
  const std::string report = folder_.path("bad.jsonl");
  std::string expected;
  for (const char* delivery : {"native", "feed", "queue", "{kind: queue, capacity: 30}"}) {
    std::string yaml =
        training_yaml(folder_, {.chunk_bytes = 200, .delivery = delivery, .more = "train: {steps: 3}\n"});
    const std::string decode = "columns: 7}}";
    yaml.insert(yaml.find(decode) + decode.size(), cat(", on_bad_row: skip, bad_rows_file: ", quote(report, 4096)));
    const TrainResult result = Trainer::from_spec(parse_yaml(yaml, "test.yaml")).run();
    const std::string written = TempFolder::read(report);
    if (expected.empty()) expected = written;
    EXPECT_EQ(written, expected) << delivery;
    EXPECT_EQ(static_cast<uint64_t>(std::count(written.begin(), written.end(), '\n')), result.input.bad_rows)
        << delivery;
  }
  EXPECT_NE(expected, "");
}

TEST_F(SameBytes, ForEveryKindOfProcessor) {
  const CsvKernels& best = csv_kernels();
  const TrainResult expected = train({});
  for (const ProcessorLevel level : {ProcessorLevel::scalar, ProcessorLevel::avx2}) {
    const CsvKernels* kernels = csv_kernels(level);
    if (kernels == nullptr) continue;
    use_csv_kernels(*kernels);
    EXPECT_EQ(train({}).weights, expected.weights) << to_string(level);
  }
  use_csv_kernels(best);
}

TEST_F(SameBytes, WithAnotherSeedTheyDiffer) {
  const TrainResult expected = train({});
  Trainer other = Trainer::from_spec(parse_yaml("seed: 6" + training_yaml(folder_, {}).substr(7), "test.yaml"));
  EXPECT_NE(other.run().weights, expected.weights);
}

TEST_F(SameBytes, WhateverIsLoggedOrSaved) {
  const TrainResult expected = train({});
  std::atomic<int> reports{0};
  TrainCallbacks callbacks;
  callbacks.on_step = [&](const StepReport&) { ++reports; };
  callbacks.on_progress = [&](const StepReport&) { ++reports; };
  EXPECT_EQ(train({.more = "train: {log_every: 1}\n"}, callbacks).weights, expected.weights);
  EXPECT_GE(reports.load(), 26);

  Trainer saving = make_trainer(folder_);
  saving.save(folder_.path("before.safetensors"));
  EXPECT_EQ(saving.run().weights, expected.weights);
}

TEST_F(SameBytes, WithOtherTrainersInTheProcess) {
  const TrainResult expected = train({});
  std::vector<std::string> hashes(4);
  std::vector<std::thread> hosts;
  for (size_t i = 0; i < hashes.size(); ++i) {
    hosts.emplace_back([&, i] { hashes[i] = train({.threads = static_cast<int>(i) + 1}).weights; });
  }
  for (std::thread& host : hosts) host.join();
  for (const std::string& hash : hashes) EXPECT_EQ(hash, expected.weights);
}

TEST_F(SameBytes, UnderTheHostsLocale) {
  const TrainResult expected = train({});
  std::setlocale(LC_ALL, "de_DE.UTF-8");  // where it exists, a decimal comma
  const TrainResult result = train({.threads = 3});
  std::setlocale(LC_ALL, "C");
  EXPECT_EQ(result.weights, expected.weights);
}

// A rate of 0.3 is rounded twice on its way into the step, from text and from double.
TEST_F(SameBytes, UnderTheHostsFloatingPointMode) {
  const std::string path = folder_.write("train.yaml", training_yaml(folder_, {}));
  for (const char* rate : {"0.1", "0.01", "0.3"}) {
    const std::vector<std::string> overrides = {cat("optimizer.sgd.learning_rate=", rate)};
    const auto train_and_save = [&](std::string& weights) {
      Trainer trainer = Trainer::from_file(path, overrides);
      weights = trainer.run().weights;
      trainer.save(folder_.path("model.safetensors"));
      return TempFolder::read(folder_.path("model.safetensors"));
    };
    std::string expected, weights;
    const std::string saved = train_and_save(expected);
    for (const bool flush : {false, true}) {
      for (const int rounding : test::HostMode::roundings()) {
        const test::HostMode host(rounding, flush);
        EXPECT_EQ(train_and_save(weights), saved) << rate << ' ' << rounding;
        EXPECT_EQ(weights, expected) << rate << ' ' << rounding;
        EXPECT_EQ(std::fegetround(), rounding);
        EXPECT_EQ(test::HostMode::keeps_subnormals(), !flush || !test::HostMode::can_flush());
      }
    }
  }
}

TEST_F(SameBytes, UnderTheHostsFloatingPointModeWhenFed) {
  const TrainResult expected = train({.delivery = "feed"});
  for (const int rounding : test::HostMode::roundings()) {
    const test::HostMode host(rounding, true);
    EXPECT_EQ(train({.delivery = "feed"}).weights, expected.weights) << rounding;
  }
}

}  // namespace
}  // namespace millrace::testing
