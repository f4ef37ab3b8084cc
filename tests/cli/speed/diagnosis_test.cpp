#include "millrace/cli/speed/diagnosis.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "millrace/cli/speed/speed.h"
#include "millrace/input/catalog.h"
#include "millrace/trainer/config/config.h"
#include "millrace/trainer/files/yaml.h"
#include "millrace/trainer/trainer.h"
#include "tests/support/temp_folder.h"

namespace millrace {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

struct Settings {
  const char* input = "[synthetic: {features: 4, rows: 100}, batch: {batch_size: 8, threads: 4}]";
  const char* delivery = "native";
  const char* more = "";
};

Diagnosis diagnosis_of(const Settings& settings, const TrainResult& run, int processors = 4) {
  const Trainer trainer = Trainer::from_spec(parse_yaml(
      cat("device: cpu\ninput: ", settings.input, "\ndelivery: ", settings.delivery,
          "\nmodel: [dense: {units: 1}]\nloss: sigmoid_cross_entropy\noptimizer: {sgd: {learning_rate: 0.1}}\n",
          settings.more),
      "test.yaml"));
  return diagnose(trainer.config(), builtin_ops(), run, processors);
}

// A run of 10 seconds on four threads.
TrainResult run_of(DeliveryTimes times, double busy = 1) {
  TrainResult out;
  out.seconds = 10;
  out.steps = 1000;
  out.threads = 4;
  out.device = "cpu";
  out.delivery.times = times;
  out.delivery.input.ops = {{.name = "synthetic", .busy_seconds = busy}, {.name = "batch", .busy_seconds = 0.1 * busy}};
  return out;
}

TEST(Diagnosis, AHealthyTrainingGetsNoAdvice) {
  const Diagnosis found = diagnosis_of({}, run_of({.make_seconds = 0.2, .wait_seconds = 0.1}));
  EXPECT_EQ(found.bottleneck, Bottleneck::step);
  EXPECT_THAT(found.advice, IsEmpty());
  EXPECT_EQ(found.op, "synthetic");
  EXPECT_DOUBLE_EQ(found.make_share, 0.02);
  EXPECT_DOUBLE_EQ(found.wait_share, 0.01);
  EXPECT_DOUBLE_EQ(found.input_share, 1.1 / 40);
}

TEST(Diagnosis, NeitherSideIsTheBottleneckWhereTheyShareTheProcessors) {
  EXPECT_EQ(diagnosis_of({}, run_of({.wait_seconds = 0.5}, 14)).bottleneck, Bottleneck::none);
  EXPECT_EQ(diagnosis_of({}, run_of({.wait_seconds = 3}, 5)).bottleneck, Bottleneck::none);
}

TEST(Diagnosis, TheInputIsTheBottleneckWhereTheStepWaitsOrTheProcessorsAreBusyWithIt) {
  EXPECT_EQ(diagnosis_of({}, run_of({.wait_seconds = 6})).bottleneck, Bottleneck::input);
  EXPECT_EQ(diagnosis_of({}, run_of({.wait_seconds = 1}, 25)).bottleneck, Bottleneck::input);
  EXPECT_THAT(diagnosis_of({}, run_of({.wait_seconds = 6})).advice, IsEmpty()) << "no key would change it";
}

TEST(Diagnosis, AnOpThatOneThreadAtATimeWorksForIsNamed) {
  TrainResult run = run_of({.wait_seconds = 6}, 9);
  EXPECT_EQ(diagnosis_of({}, run).serial_op, "");
  run.delivery.input.ops[0].serial_seconds = 5;
  EXPECT_EQ(diagnosis_of({}, run).serial_op, "synthetic");
  run.delivery.input.ops[0].serial_seconds = 3;
  EXPECT_EQ(diagnosis_of({}, run).serial_op, "") << "it is not what the step waits for";
  run.delivery.input.ops[0].serial_seconds = 1;
  run.delivery.times = {.wait_seconds = 0.5};
  EXPECT_EQ(diagnosis_of({}, run).serial_op, "") << "the step hardly waits";
}

TEST(Diagnosis, AFedTrainingShouldBeNative) {
  const Diagnosis found = diagnosis_of({.delivery = "feed"}, run_of({.make_seconds = 4, .copy_seconds = 1}, 4));
  ASSERT_THAT(found.advice, SizeIs(1));
  EXPECT_EQ(found.advice[0].key, "delivery");
  EXPECT_EQ(found.advice[0].from, "feed");
  EXPECT_EQ(found.advice[0].to, "native");
  EXPECT_DOUBLE_EQ(found.advice[0].expected_gain, 10 / (10 - 5 + 1.0));
  EXPECT_EQ(found.advice[0].why,
            "the training thread makes and copies every batch by itself, while the others have nothing to do");
}

// Of a training that went on, the times are of this run only.
TEST(Diagnosis, AFewStepsAfterACheckpointSayLittle) {
  TrainResult run = run_of({.make_seconds = 4, .copy_seconds = 1}, 4);
  run.resumed = run.steps - 19;
  EXPECT_THAT(diagnosis_of({.delivery = "feed"}, run).advice, IsEmpty());
  run.resumed = run.steps - 20;
  EXPECT_THAT(diagnosis_of({.delivery = "feed"}, run).advice, SizeIs(1));
}

TEST(Diagnosis, AnOpThatLimitsTheThreadsIsNamed) {
  const Settings one = {.input = "[synthetic: {features: 4, rows: 100}, batch: {batch_size: 8}]"};
  const Diagnosis found = diagnosis_of(one, run_of({.wait_seconds = 6}, 9));
  ASSERT_THAT(found.advice, SizeIs(1));
  EXPECT_EQ(found.op, "batch");
  EXPECT_EQ(found.advice[0].key, "input.batch.threads");
  EXPECT_EQ(found.advice[0].from, "1");
  EXPECT_EQ(found.advice[0].to, "4");
  EXPECT_DOUBLE_EQ(found.advice[0].expected_gain, 10 / (10 - 6 * 0.75));
  EXPECT_EQ(found.advice[0].why, "at most 1 task may decode at once, on 4 threads");
  EXPECT_THAT(diagnosis_of(one, run_of({.wait_seconds = 1}, 9)).advice, IsEmpty()) << "it is hardly waited for";
  EXPECT_THAT(diagnosis_of(one, run_of({.wait_seconds = 9}, 1)).advice, IsEmpty()) << "its tasks have little to do";
}

TEST(Diagnosis, TheOpThatAllowsMostSpeaksForAll) {
  const Settings two = {
      .input = "[synthetic: {features: 4, rows: 100}, queue: {threads: 4}, batch: {batch_size: 8, threads: 1}]"};
  EXPECT_THAT(diagnosis_of(two, run_of({.wait_seconds = 6}, 9)).advice, IsEmpty());
}

TEST(Diagnosis, EverySourceHasATask) {
  const Settings two = {.input =
                            "[synthetic: {features: 4, rows: 100}, synthetic: {name: b, features: 4}, "
                            "interleave: {from: [synthetic, b]}, batch: {batch_size: 8, threads: 1}]"};
  const Diagnosis found = diagnosis_of(two, run_of({.wait_seconds = 6}, 14));
  ASSERT_THAT(found.advice, SizeIs(1));
  EXPECT_EQ(found.advice[0].from, "2");
}

TEST(Diagnosis, AQueueThatLimitsTheThreadsIsNamed) {
  const Diagnosis found = diagnosis_of({.delivery = "{kind: queue, threads: 1}"}, run_of({.wait_seconds = 6}, 9));
  ASSERT_THAT(found.advice, SizeIs(1));
  EXPECT_EQ(found.advice[0].key, "delivery.threads");
  EXPECT_EQ(found.op, "synthetic");
}

TEST(Diagnosis, ShortChunksAreNamed) {
  const TempFolder folder;
  folder.write("a.csv", "1,2,3,4,1\n");
  const auto input = [&](const std::string& chunk) {
    return cat("[filename_queue: {files: ", quote(folder.path("a.csv"), 4096), "}, csv_reader: {chunk_bytes: ", chunk,
               "}, decode_csv: {fields: {features: {columns: 0-3}, label: {columns: 4}}}, batch: {threads: 4, "
               "batch_size: 8}]");
  };
  const std::string shortest = input("1000"), large = input("100000");
  const Diagnosis found = diagnosis_of({.input = shortest.c_str()}, run_of({.wait_seconds = 8}));
  ASSERT_THAT(found.advice, SizeIs(1));
  EXPECT_EQ(found.advice[0].key, "input.csv_reader.chunk_bytes");
  EXPECT_EQ(found.advice[0].from, "1000");
  EXPECT_EQ(found.advice[0].to, "262144");
  EXPECT_NEAR(found.advice[0].expected_gain, 1 / (1 - 0.8 * 10 / 11), 1e-9);
  EXPECT_THAT(diagnosis_of({.input = large.c_str()}, run_of({.wait_seconds = 8})).advice, IsEmpty());
  EXPECT_THAT(diagnosis_of({.input = shortest.c_str()}, run_of({.wait_seconds = 0.1})).advice, IsEmpty());
}

TEST(Diagnosis, ProcessorsThatAreNotUsedAreNamed) {
  TrainResult run = run_of({.wait_seconds = 1});
  EXPECT_THAT(diagnosis_of({}, run, 16).advice, IsEmpty()) << "the configuration says auto";
  const Diagnosis found = diagnosis_of({.more = "threads: 4\n"}, run, 16);
  ASSERT_THAT(found.advice, SizeIs(1));
  EXPECT_EQ(found.advice[0].key, "threads");
  EXPECT_EQ(found.advice[0].to, "auto");
  EXPECT_DOUBLE_EQ(found.advice[0].expected_gain, 1 / (0.1 + 0.9 / 4));
  run.device = "cuda:0";
  EXPECT_THAT(diagnosis_of({.more = "threads: 4\n"}, run, 16).advice, IsEmpty());
}

// They decide what keep_best keeps and when patience runs out, so they are no matter of speed.
TEST(Diagnosis, NoAdviceTouchesValidations) {
  TrainResult run = run_of({});
  run.seconds = 40;
  run.validation_seconds = 30;
  for (const char* more : {"", ", keep_best: true, patience: 3"}) {
    const std::string validation =
        cat("validation: {input: [synthetic: {features: 4, rows: 9}, batch: {batch_size: 8}], every: 5", more, "}\n");
    const Diagnosis found = diagnosis_of({.more = validation.c_str()}, run);
    EXPECT_DOUBLE_EQ(found.validation_share, 0.75);
    EXPECT_THAT(found.advice, IsEmpty()) << more;
  }
}

TEST(Diagnosis, KeysThatChangeTheResultAreNoKnobs) {
  const OpRegistry ops = builtin_ops();
  for (const auto& [kind, entry] : ops.entries()) {
    for (const OptionInfo& option : entry.describe()) {
      const bool knob =
          option.use == OptionUse::tasks || option.use == OptionUse::waiting || option.use == OptionUse::chunk_bytes;
      EXPECT_TRUE(!knob || option.only_speed) << kind << '.' << option.name;
    }
  }
  // Whatever an op uses its keys for: this one does not say that they change no result.
  OpRegistry other = ops;
  OpRegistry::Entry entry = ops.entries().at("batch");
  entry.describe = [describe = entry.describe] {
    std::vector<OptionInfo> options = describe();
    for (OptionInfo& option : options) option.only_speed = false;
    return options;
  };
  other.add("group", entry);
  Catalog catalog = Catalog::builtin();
  catalog.ops = other;
  const Trainer trainer = Trainer::from_spec(
      parse_yaml("device: cpu\ninput: [synthetic: {features: 4, rows: 100}, group: {batch_size: 8}]\n"
                 "model: [dense: {units: 1}]\nloss: sigmoid_cross_entropy\noptimizer: {sgd: {learning_rate: 0.1}}\n",
                 "test.yaml"),
      catalog);
  EXPECT_THAT(diagnose(trainer.config(), other, run_of({.wait_seconds = 6}, 9), 4).advice, IsEmpty());
}

TEST(Diagnosis, WhatGainsMostComesFirst) {
  const Diagnosis found = diagnosis_of({.delivery = "feed", .more = "threads: 4\n"}, run_of({.make_seconds = 5}, 5), 8);
  ASSERT_THAT(found.advice, SizeIs(2));
  EXPECT_EQ(found.advice[0].key, "threads");
  EXPECT_EQ(found.advice[1].key, "delivery");
}

TEST(Diagnosis, OfNothingIsNothing) {
  const Diagnosis found = diagnosis_of({}, TrainResult{});
  EXPECT_EQ(found.bottleneck, Bottleneck::none);
  EXPECT_THAT(found.advice, IsEmpty());
}

}  // namespace
}  // namespace millrace
