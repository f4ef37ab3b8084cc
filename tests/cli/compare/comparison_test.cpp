#include "millrace/cli/compare/comparison.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <stop_token>

#include "millrace/core/text.h"
#include "millrace/trainer/files/yaml.h"
#include "tests/support/temp_folder.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string yaml(const std::string& more, const std::string& rows = {}) {
  return cat("seed: 3\ndevice: cpu\nthreads: 2\ninput:\n  - synthetic: {features: 8", rows,
             "}\n  - batch: {batch_size: 8}\nmodel: [dense: {units: 1}]\nloss: sigmoid_cross_entropy\n"
             "optimizer: {sgd: {learning_rate: 0.1}}\n",
             more);
}

Comparison compare(const std::string& more, const std::string& rows = {}) {
  Comparer comparer(parse_yaml(yaml(more, rows), "test.yaml"));
  return comparer.run().value();
}

std::string failure_of(const std::string& more, const std::string& rows = {}) {
  try {
    compare(more, rows);
    return "none";
  } catch (const Error& error) {
    return cat(error.message(), "; ", error.hint());
  }
}

TEST(Comparison, TrainsTheSameWithEveryDelivery) {
  const Comparison found = compare("train: {steps: 30}\ncompare: {rounds: 3, warm_up: 4}\n");
  EXPECT_EQ(found.steps, 30);
  EXPECT_EQ(found.warm_up, 4);
  EXPECT_EQ(found.rounds, 3);
  EXPECT_EQ(found.batch_size, 8);
  EXPECT_EQ(found.threads, 2);
  EXPECT_EQ(found.device, "cpu");
  EXPECT_FALSE(found.processor.empty());
  EXPECT_EQ(found.noise_of, "native");
  EXPECT_GT(found.input_seconds, 0);
  ASSERT_EQ(found.deliveries.size(), 5u);
  std::vector<std::string> names;
  for (const ComparedDelivery& delivery : found.deliveries) {
    names.push_back(delivery.name);
    const bool constant = delivery.kind == DeliveryKind::constant;
    EXPECT_EQ(delivery.same_training, !constant) << delivery.name;
    EXPECT_EQ(delivery.weights == found.deliveries[0].weights, !constant) << delivery.name;
    EXPECT_LE(delivery.step_seconds.min, delivery.step_seconds.median);
    EXPECT_LE(delivery.step_seconds.median, delivery.step_seconds.max);
    EXPECT_GT(delivery.step_seconds.min, 0);
    EXPECT_DOUBLE_EQ(delivery.rows_per_second, 8 / delivery.step_seconds.median);
    EXPECT_EQ(delivery.make_seconds + delivery.wait_seconds + delivery.copy_seconds > 0, !constant);
    EXPECT_LT(delivery.input_wait, 1);
    EXPECT_TRUE(delivery.bound_seconds);
    EXPECT_EQ(delivery.mean_queued.has_value(),
              delivery.kind == DeliveryKind::queue || delivery.kind == DeliveryKind::staging);
    EXPECT_EQ(delivery.queued.size(), delivery.mean_queued ? 26u : 0u);
  }
  EXPECT_THAT(names, ElementsAre("feed", "queue", "staging", "native", "constant"));
  EXPECT_TRUE(found.equal_weights());
  EXPECT_DOUBLE_EQ(found.over_feed(found.deliveries[0]).value(), 1);
  EXPECT_GT(found.deliveries[0].make_seconds, 0);
  EXPECT_GT(found.deliveries[0].copy_seconds, 0);
  EXPECT_EQ(found.deliveries[3].copy_seconds, 0);
}

TEST(Comparison, TheBoundIsWhatStepAndInputTakeAlone) {
  const Comparison found = compare("train: {steps: 30}\ncompare: {rounds: 1, warm_up: 4}\n");
  const ComparedDelivery& alone = *found.find(DeliveryKind::constant, 8);
  const double step = alone.step_seconds.median;
  const ComparedDelivery& feed = *found.find(DeliveryKind::feed, 8);
  EXPECT_DOUBLE_EQ(*feed.bound_seconds, step + found.input_seconds + feed.copy_seconds);
  EXPECT_DOUBLE_EQ(*found.find(DeliveryKind::native, 8)->bound_seconds,
                   std::max(step, (alone.processor_seconds + found.input_seconds) / 2));
  EXPECT_DOUBLE_EQ(*found.find(DeliveryKind::constant, 8)->bound_seconds, step);
}

TEST(Comparison, WithoutConstantThereIsNoBound) {
  const Comparison found = compare("train: {steps: 20}\ncompare: {rounds: 1, deliveries: [native]}\n");
  ASSERT_EQ(found.deliveries.size(), 1u);
  EXPECT_FALSE(found.deliveries[0].bound_seconds);
  EXPECT_FALSE(found.over_feed(found.deliveries[0]));
}

TEST(Comparison, OtherBatchesAreAnotherTraining) {
  const Comparison found =
      compare("train: {steps: 20}\ncompare: {rounds: 1, deliveries: [feed, {kind: queue, batch_size: 4}]}\n");
  ASSERT_EQ(found.deliveries.size(), 2u);
  EXPECT_EQ(found.deliveries[1].name, "queue (batches of 4)");
  EXPECT_EQ(found.deliveries[1].batch_size, 4);
  EXPECT_FALSE(found.deliveries[1].same_training);
  EXPECT_NE(found.deliveries[1].weights, found.deliveries[0].weights);
  EXPECT_TRUE(found.equal_weights());
}

TEST(Comparison, WithoutStepsConstantTrainsAsLongAsTheData) {
  const Comparison found = compare("compare: {rounds: 1, deliveries: [constant, native]}\n", ", rows: 200");
  EXPECT_EQ(found.steps, 25);
}

TEST(Comparison, SavesAndValidatesNothing) {
  const TempFolder folder;
  compare(cat("train: {steps: 12}\ncompare: {rounds: 1, deliveries: [native]}\nsave: ",
              quote(folder.path("m.safetensors"), 4096), '\n'));
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(Comparison, SaysWhyItCannotBe) {
  EXPECT_EQ(failure_of("train: {steps: 10}\n"),
            "the training has 10 steps, and the first 10 are not timed; set train.steps, give it more data, or lower "
            "compare.warm_up");
  EXPECT_THAT(failure_of("", ", rows: 40"), HasSubstr("the training has 5 steps"));
  EXPECT_THAT(failure_of("compare: {deliveries: [constant]}\n"), HasSubstr("the delivery constant never ends"));
}

TEST(Comparison, GivesEachDeliveryANameOfItsOwn) {
  const Comparison found = compare(
      "train: {steps: 20}\ncompare: {rounds: 1, deliveries: [queue, {kind: queue, capacity: 2, threads: 1}]}\n");
  EXPECT_EQ(found.deliveries[0].name, "queue");
  EXPECT_EQ(found.deliveries[1].name, "queue (capacity 2, threads 1)");
  EXPECT_THAT(failure_of("train: {steps: 20}\ncompare: {deliveries: [auto, native]}\n"),
              HasSubstr("two deliveries are called \"native\"; give each a name of its own"));
}

TEST(Comparison, TheInputIsThatOfTheConfigurationsBatches) {
  const Comparison found =
      compare("train: {steps: 20}\ncompare: {rounds: 1, deliveries: [{kind: native, batch_size: 2}]}\n");
  EXPECT_EQ(found.input_rows, 8);
  EXPECT_EQ(found.batch_size, 2);
}

TEST(Comparison, TakesTurns) {
  Comparer comparer(parse_yaml(yaml("train: {steps: 12}\ncompare: {rounds: 2, deliveries: [feed, native]}\n"), "t"));
  std::vector<std::string> turns;
  comparer.run({.on_training = [&](int64_t round, int64_t rounds, std::string_view name) {
    turns.push_back(cat(round, '/', rounds, ' ', name));
  }});
  EXPECT_THAT(turns, ElementsAre("0/2 feed", "0/2 native", "1/2 the input alone", "1/2 feed", "1/2 native",
                                 "1/2 native", "2/2 the input alone", "2/2 feed", "2/2 native", "2/2 native"));
}

TEST(Comparison, StopEndsIt) {
  Comparer comparer(parse_yaml(yaml("train: {steps: 1000000000}\n"), "test.yaml"));
  std::stop_source stop;
  EXPECT_FALSE(comparer.run(
      {.stop = stop.get_token(), .on_training = [&](int64_t, int64_t, std::string_view) { stop.request_stop(); }}));
  EXPECT_FALSE(comparer.run({.stop = stop.get_token()}));
}

}  // namespace
}  // namespace millrace
