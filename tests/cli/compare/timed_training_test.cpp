#include "millrace/cli/compare/timed_training.h"

#include <gtest/gtest.h>

#include <stop_token>
#include <thread>

#include "millrace/trainer/files/yaml.h"

namespace millrace {
namespace {

Spec config(const char* more) {
  return parse_yaml(cat("seed: 3\ndevice: cpu\nthreads: 2\ninput: [synthetic: {features: 8}, batch: {batch_size: 8}]\n"
                        "model: [dense: {units: 1}]\nloss: sigmoid_cross_entropy\n"
                        "optimizer: {sgd: {learning_rate: 0.1}}\n",
                        more),
                    "test.yaml");
}

TEST(TimedTraining, TimesTheStepsBehindTheFirst) {
  const Catalog catalog = Catalog::builtin();
  const auto run = timed_training(config("train: {steps: 30}\ndelivery: queue\n"), catalog, {.warm_up = 4});
  ASSERT_TRUE(run);
  EXPECT_EQ(run->steps, 30);
  EXPECT_EQ(run->timed, 26);
  EXPECT_EQ(run->queued.size(), 26u);
  EXPECT_GT(run->seconds, 0);
  EXPECT_LT(run->seconds, run->result.seconds);
  EXPECT_GT(run->times.copy_seconds, 0);
  EXPECT_LT(run->times.total(), run->seconds);
  EXPECT_EQ(run->result.threads, 2);
  EXPECT_EQ(run->result.weights.size(), 64u);
  EXPECT_DOUBLE_EQ(run->step_seconds(), run->seconds / 26);
}

TEST(TimedTraining, EndsAfterSoManySeconds) {
  const Catalog catalog = Catalog::builtin();
  const auto run = timed_training(config("train: {steps: 1000000000}\n"), catalog, {.seconds = 0.02});
  ASSERT_TRUE(run);
  EXPECT_GE(run->seconds, 0.02);
  EXPECT_GE(run->timed, 1);
}

TEST(TimedTraining, TimesAtLeastSoManySteps) {
  const Catalog catalog = Catalog::builtin();
  EXPECT_EQ(
      timed_training(config("train: {steps: 1000000000}\n"), catalog, {.seconds = 0, .least_steps = 7}).value().timed,
      7);
}

TEST(TimedTraining, OfFewerStepsThanTheWarmUpTimesNothing) {
  const Catalog catalog = Catalog::builtin();
  const auto run = timed_training(config("train: {steps: 3}\n"), catalog, {});
  EXPECT_EQ(run->steps, 3);
  EXPECT_EQ(run->timed, 0);
}

TEST(TimedTraining, StopEndsThisRunAndFurtherOnes) {
  const Catalog catalog = Catalog::builtin();
  std::stop_source stop;
  std::thread other([&] { stop.request_stop(); });
  EXPECT_FALSE(timed_training(config(""), catalog, {.stop = stop.get_token()}));
  other.join();
  EXPECT_FALSE(timed_training(config(""), catalog, {.stop = stop.get_token()}));
}

TEST(ForTiming, LeavesOutWhatATrainingDoesBesideItsSteps) {
  const Spec spec = for_timing(
      config("save: m.safetensors\ncheckpoint: runs\nlog: {json: a}\ntrain: {steps: 3}\ncompare: {rounds: 2}\n"));
  EXPECT_EQ(spec.find("save"), nullptr);
  EXPECT_EQ(spec.find("checkpoint"), nullptr);
  EXPECT_EQ(spec.find("log"), nullptr);
  EXPECT_EQ(spec.find("compare"), nullptr);
  EXPECT_NE(spec.find("train"), nullptr);
}

TEST(Spread, IsOfTheMiddleAndTheEnds) {
  const Spread spread = Spread::of({3, 1, 10, 2, 4});
  EXPECT_EQ(spread.median, 3);
  EXPECT_EQ(spread.min, 1);
  EXPECT_EQ(spread.max, 10);
  EXPECT_EQ(Spread::of({4, 1, 2, 10}).median, 3);
  EXPECT_EQ(Spread::of({2}).median, 2);
}

}  // namespace
}  // namespace millrace
