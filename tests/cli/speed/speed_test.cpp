#include "millrace/cli/speed/speed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <set>
#include <stop_token>
#include <thread>

#include "millrace/core/text.h"
#include "millrace/input/catalog.h"
#include "millrace/trainer/files/yaml.h"
#include "tests/input/formats.h"
#include "tests/support/renamed.h"
#include "tests/support/temp_folder.h"

namespace millrace {
namespace {

// Takes so long for every chunk, whatever else the machine does.
class Slow final : public Transform {
 public:
  struct Options {
    double ms = 1;
    void declare(OptionReader& o) { o.required("ms", ms, "that every chunk takes"); }
  };
  static constexpr std::string_view kDoc = "takes its time";

  explicit Slow(const Options& options) : time_(static_cast<int64_t>(options.ms * 1e3)) {}

  Port bind(const BindArgs& args) override { return args.inputs[0]; }
  void apply(Chunk&) const override {
    const auto end = std::chrono::steady_clock::now() + time_;
    while (std::chrono::steady_clock::now() < end) std::this_thread::yield();
  }

 private:
  const std::chrono::microseconds time_;
};

SpeedReport speed_of(const std::string& input, const std::string& more, int units = 1) {
  Catalog catalog = Catalog::builtin();
  catalog.ops.add<Slow>("slow");
  const Spec config =
      parse_yaml(cat("seed: 3\ndevice: cpu\nthreads: 2\ninput: ", input, "\nmodel: [dense: {units: ", units,
                     "}, dense: {units: 1}]\nloss: sigmoid_cross_entropy\n"
                     "optimizer: {sgd: {learning_rate: 0.01}}\n",
                     more),
                 "test.yaml");
  return measure_speed(config, catalog, {.rounds = 2, .window_seconds = 0.15, .warm_up = 2}).value();
}

TEST(Speed, FindsTheOpThatLimitsTheThreads) {
  const SpeedReport report =
      speed_of("[synthetic: {features: 512}, slow: {ms: 4}, batch: {batch_size: 256, threads: 1}]", "");
  EXPECT_EQ(report.bottleneck, Bottleneck::input);
  ASSERT_TRUE(report.advice) << report.tried.size();
  EXPECT_EQ(report.advice->key, "input.batch.threads");
  EXPECT_EQ(report.advice->from, "1");
  EXPECT_EQ(report.advice->to, "2");
  EXPECT_GT(report.advice->expected_gain, 1.3);
  EXPECT_EQ(report.op, "batch");
}

TEST(Speed, FindsThatFeedingIsSlow) {
  const SpeedReport report =
      speed_of("[synthetic: {features: 512}, slow: {ms: 4}, batch: {batch_size: 256, threads: 2}]", "delivery: feed\n");
  EXPECT_EQ(report.bottleneck, Bottleneck::input);
  ASSERT_TRUE(report.advice);
  EXPECT_EQ(report.advice->key, "delivery");
  EXPECT_EQ(report.advice->to, "native");
}

TEST(Speed, MeasuresDataThatEndAsIfTheyDidNot) {
  const SpeedReport report =
      speed_of("[synthetic: {features: 64, rows: 40}, batch: {batch_size: 32, threads: 2}]", "", 6000);
  EXPECT_EQ(report.batch_size, 32);
  EXPECT_EQ(report.threads, 2);
  EXPECT_GT(report.input_rows_per_second, 0);
  EXPECT_GT(report.step.median, 0);
}

TEST(Speed, NamesTheOpThatTakesTheTime) {
  const SpeedReport report =
      speed_of("[synthetic: {features: 512}, slow: {ms: 4}, batch: {batch_size: 256, threads: 2}]", "");
  EXPECT_EQ(report.bottleneck, Bottleneck::input);
  EXPECT_EQ(report.diagnosis.op, "slow");
}

TEST(Speed, MeasuresFilesOfEverySort) {
  const TempFolder folder;
  const testing_support::FormatTable table(testing_support::FormatRows(true));
  for (const testing_support::Format& format : table.formats) {
    // Others differ from these in what a task does with a chunk.
    static const std::set<std::string> kTried = {"members", "npz", "records", "pictures", "lmdb", "parquet"};
    if (!kTried.contains(format.name)) continue;
    format.put(folder);
    const Spec config = parse_yaml(testing_support::training_on(format, folder.path() + '/'), "test.yaml");
    const SpeedReport report =
        measure_speed(config, Catalog::builtin(), {.rounds = 1, .window_seconds = 0.01, .warm_up = 1}).value();
    EXPECT_GT(report.input_rows_per_second, 0) << format.name;
    EXPECT_GT(report.together.median, 0) << format.name;
    EXPECT_FALSE(report.op.empty()) << format.name;
  }
}

TEST(Speed, SaysWhenThereIsTooLittle) {
  // What reads a named op is left as it is.
  const char* input = "[synthetic: {features: 4}, take: {rows: 16}, batch: {batch_size: 8, from: take}]";
  EXPECT_THROW(speed_of(input, ""), DataError);
}

TEST(Speed, WhatIsTakenIsReadAgain) {
  for (const char* rest : {"take: {rows: 16}", "take: {rows: 16}, repeat: {epochs: 2}", "cache, take: {rows: 16}"}) {
    const SpeedReport report =
        speed_of(cat("[synthetic: {features: 4, rows: 32}, ", rest, ", batch: {batch_size: 8}]"), "");
    EXPECT_GT(report.together.median, 0) << rest;
    EXPECT_LT(report.input_rows_per_second, 1e10) << rest;
  }
}

TEST(Speed, OfOneBatchThereIsNoInput) {
  try {
    speed_of("[synthetic: {features: 4}, batch: {batch_size: 8}]", "delivery: constant\n");
    ADD_FAILURE() << "it measured something";
  } catch (const ConfigError& error) {
    EXPECT_STREQ(error.what(),
                 "test.yaml:8:11: delivery: constant reads only one batch, so there is no input to measure; "
                 "leave it out, or set another one");
  }
}

TEST(Speed, AnInputThatNeedsItsEndStillHasIt) {
  const SpeedReport report = speed_of(
      "[synthetic: {features: 4, rows: 64}, cache: {memory: 64KiB}, repeat: {epochs: 50}, batch: {batch_size: 8}]", "");
  EXPECT_GT(report.together.median, 0);
}

TEST(Speed, TriesNothingThatCannotBe) {
  const SpeedReport report =
      speed_of("[synthetic: {features: 512}, slow: {ms: 4}, batch: {batch_size: 256, threads: 2}]",
               "delivery: {kind: queue, capacity: 2000}\n");
  for (const Advice& advice : report.tried) EXPECT_NE(advice.key, "delivery.capacity");
}

TEST(BottleneckOf, GoesByWhatTheInputAdds) {
  EXPECT_EQ(bottleneck_of(1, 1.05), Bottleneck::step);
  EXPECT_EQ(bottleneck_of(1, 0.9), Bottleneck::step);
  EXPECT_EQ(bottleneck_of(1, 1.5), Bottleneck::none);
  EXPECT_EQ(bottleneck_of(1, 2.1), Bottleneck::input);
}

TEST(WorkersWanted, AreAsManyAsDecodeWhileAStepGoes) {
  SpeedReport report;
  report.bottleneck = Bottleneck::input;
  report.batch_size = 100;
  report.input_rows_per_second = 10000;  // 10 ms a batch
  report.step.median = 0.004;
  EXPECT_EQ(workers_wanted(report), 3);
  report.step.median = 0.02;
  EXPECT_EQ(workers_wanted(report), 1);
  report.diagnosis.serial_op = "csv_reader";
  EXPECT_EQ(workers_wanted(report), 0);
  report.diagnosis.serial_op.clear();
  report.bottleneck = Bottleneck::step;
  EXPECT_EQ(workers_wanted(report), 0);
}

TEST(BestOf, IsWhatGainedMostAndMoreThanTheNoise) {
  const std::vector<Advice> tried = {{.key = "a", .from = {}, .to = {}, .expected_gain = 1.2, .why = {}},
                                     {.key = "b", .from = {}, .to = {}, .expected_gain = 1.3, .why = {}}};
  EXPECT_EQ(best_of(tried, 0.05)->key, "b");
  EXPECT_FALSE(best_of(tried, 0.4));
  EXPECT_FALSE(best_of({{.key = "a", .from = {}, .to = {}, .expected_gain = 1.09, .why = {}}}, 0));
  EXPECT_FALSE(best_of({}, 0));
}

TEST(Speed, StopEndsIt) {
  const Spec config = parse_yaml(
      "device: cpu\ninput: [synthetic: {features: 4}, batch: {batch_size: 8}]\n"
      "model: [dense: {units: 1}]\nloss: sigmoid_cross_entropy\n"
      "optimizer: {sgd: {learning_rate: 0.1}}\n",
      "test.yaml");
  std::stop_source stop;
  EXPECT_FALSE(measure_speed(
      config, Catalog::builtin(),
      {.window_seconds = 1000, .stop = stop.get_token(), .tell = [&](std::string_view) { stop.request_stop(); }}));
}

TEST(WorthTrying, AreKeysThatChangeNoResult) {
  const Catalog catalog = Catalog::builtin();
  const Trainer trainer = Trainer::from_spec(
      parse_yaml("input: [synthetic: {features: 4}, queue: {capacity: 3}, batch: {batch_size: 8, threads: 2}]\n"
                 "delivery: {kind: queue, capacity: 2, threads: 1}\nmodel: [dense: {units: 1}]\n"
                 "loss: sigmoid_cross_entropy\noptimizer: {sgd: {learning_rate: 0.1}}\n",
                 "test.yaml"),
      catalog);
  std::vector<std::string> keys;
  for (const Advice& advice : worth_trying(trainer.config(), builtin_ops(), 2)) {
    keys.push_back(cat(advice.key, ' ', advice.from, " -> ", advice.to));
  }
  EXPECT_THAT(keys, ::testing::ElementsAre("input.queue.capacity 3 -> 24", "input.batch.capacity  -> 192",
                                           "delivery.capacity 2 -> 8", "delivery.threads 1 -> 2"));
}

// Kinds and keys of a program are found by what they say of themselves.
TEST(WorthTrying, HasKeysOfOthers) {
  Catalog catalog = Catalog::builtin();
  catalog.ops.add("counter", test::renamed(catalog.ops, "synthetic", {{"rows", "until"}}));
  catalog.ops.add(
      "draw",
      test::renamed(
          catalog.ops, "shuffle_batch",
          {{"batch_size", "size"}, {"capacity", "room"}, {"min_after_dequeue", "window"}, {"threads", "workers"}}));
  const Spec config = parse_yaml(
      "device: cpu\nthreads: 2\ninput: [counter: {features: 4, until: 64}, draw: {size: 8, window: 16}]\n"
      "model: [dense: {units: 1}]\nloss: sigmoid_cross_entropy\noptimizer: {sgd: {learning_rate: 0.1}}\n",
      "test.yaml");
  const Trainer trainer = Trainer::from_spec(config, catalog);
  std::vector<std::string> keys;
  for (const Advice& advice : worth_trying(trainer.config(), catalog.ops, 2)) {
    keys.push_back(cat(advice.key, ' ', advice.from, " -> ", advice.to));
  }
  EXPECT_THAT(keys, ::testing::ElementsAre("input.draw.workers 1 -> 2", "input.draw.room  -> 144"));
  // 64 rows are 8 batches: without their end there are more.
  const auto found = measure_speed(config, catalog, {.rounds = 1, .window_seconds = 0.05, .warm_up = 10});
  EXPECT_GT(found.value().together.median, 0);
}

TEST(WorthTrying, AreNoKeysThatDoNotSaySo) {
  Catalog catalog = Catalog::builtin();
  OpRegistry::Entry entry = catalog.ops.entries().at("batch");
  entry.describe = [describe = entry.describe] {
    std::vector<OptionInfo> options = describe();
    for (OptionInfo& option : options) option.only_speed = false;
    return options;
  };
  catalog.ops.add("group", entry);
  const Trainer trainer = Trainer::from_spec(
      parse_yaml("device: cpu\ninput: [synthetic: {features: 4, rows: 100}, group: {batch_size: 8}]\n"
                 "model: [dense: {units: 1}]\nloss: sigmoid_cross_entropy\noptimizer: {sgd: {learning_rate: 0.1}}\n",
                 "test.yaml"),
      catalog);
  EXPECT_THAT(worth_trying(trainer.config(), catalog.ops, 4), ::testing::IsEmpty());
}

TEST(WorthTrying, MoreRowsMayWaitBesidesTheWindow) {
  const auto advised = [](const std::string& capacity) {
    const Trainer trainer = Trainer::from_spec(
        parse_yaml(cat("input: [synthetic: {features: 4}, shuffle_batch: {batch_size: 8, min_after_dequeue: 100, "
                       "threads: 2",
                       capacity, "}]\nmodel: [dense: {units: 1}]\nloss: sigmoid_cross_entropy\n",
                       "optimizer: {sgd: {learning_rate: 0.1}}\n"),
                   "test.yaml"),
        Catalog::builtin());
    const std::vector<Advice> all = worth_trying(trainer.config(), builtin_ops(), 2);
    return all.size() == 1 ? cat(all[0].key, ' ', all[0].from, " -> ", all[0].to) : cat(all.size(), " advices");
  };
  EXPECT_EQ(advised(""), "input.shuffle_batch.capacity  -> 292");
  EXPECT_EQ(advised(", capacity: 150"), "input.shuffle_batch.capacity 150 -> 500");
}

}  // namespace
}  // namespace millrace
