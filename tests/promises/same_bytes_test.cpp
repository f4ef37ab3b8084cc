// P1: same seed, same bytes, whatever the threads, capacities, chunk sizes, deliveries and surroundings.
#include <gtest/gtest.h>

#include <atomic>
#include <cfenv>
#include <clocale>
#include <thread>
#include <vector>

#include "tests/promises/training.h"

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
  }
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

TEST_F(SameBytes, UnderTheHostsFloatingPointModeAndLocale) {
  const TrainResult expected = train({});
  std::setlocale(LC_ALL, "de_DE.UTF-8");  // where it exists, a decimal comma
  std::fesetround(FE_UPWARD);
  const TrainResult result = train({.threads = 3});
  const int mode_after = std::fegetround();
  std::fesetround(FE_TONEAREST);
  std::setlocale(LC_ALL, "C");
  EXPECT_EQ(mode_after, FE_UPWARD);
  EXPECT_EQ(result.weights, expected.weights);
}

}  // namespace
}  // namespace millrace::testing
