#include "millrace/cli/report/json_events.h"

#include <gtest/gtest.h>

#include <limits>

#include "millrace/cli/report/result_text.h"
#include "millrace/trainer/files/yaml.h"

namespace millrace::cli {
namespace {

TEST(JsonEventsTest, Start) {
  EXPECT_EQ(start_event({.device = "cpu", .threads = 2, .parameters = 1050625, .batch_size = 23, .steps = 1000}),
            "{\"v\":1,\"event\":\"start\",\"device\":\"cpu\",\"threads\":2,\"parameters\":1050625,\"batch_size\":23,"
            "\"steps\":1000}\n");
}

TEST(JsonEventsTest, SaysByWhatRowsAreWeighted) {
  EXPECT_NE(start_event({.device = "cpu", .weight = "w"}).find(",\"steps\":null,\"weight\":\"w\"}\n"),
            std::string::npos);
  EXPECT_NE(evaluation_event({.loss = 0.5, .weight = "w"}).find(",\"metrics\":{},\"weight\":\"w\",\"seconds\":0}\n"),
            std::string::npos);
}

TEST(JsonEventsTest, StartWithoutStepsUntilTheDataEnds) {
  EXPECT_NE(start_event({.device = "cpu", .steps = std::nullopt}).find("\"steps\":null}"), std::string::npos);
}

TEST(JsonEventsTest, Step) {
  StepReport step{.step = 20,
                  .epoch = 1,
                  .batch_size = 23,
                  .loss = 0.6931,
                  .metrics = {{"accuracy", 0.5}},
                  .rows_per_s = 12345.5,
                  .input_wait = 0.03};
  EXPECT_EQ(step_event(step),
            "{\"v\":1,\"event\":\"step\",\"step\":20,\"epoch\":1,\"loss\":0.6931,\"metrics\":{\"accuracy\":0.5},"
            "\"rows_per_s\":12345.5,\"input_wait\":0.03,\"done\":null}\n");
  step.done = 0.25;
  EXPECT_TRUE(step_event(step).ends_with(",\"done\":0.25}\n")) << step_event(step);
}

TEST(JsonEventsTest, Validation) {
  const ValidationReport report{.step = 200,
                                .epoch = 2,
                                .rows = 1000,
                                .loss = 0.43,
                                .metrics = {{"accuracy", 0.81}},
                                .best = true,
                                .seconds = 0.25};
  EXPECT_EQ(validation_event(report),
            "{\"v\":1,\"event\":\"validation\",\"step\":200,\"epoch\":2,\"rows\":1000,\"loss\":0.43,"
            "\"metrics\":{\"accuracy\":0.81},\"best\":true,\"seconds\":0.25}\n");
}

TEST(JsonEventsTest, DoneNamesTheBestModel) {
  TrainResult result;
  EXPECT_EQ(done_event(result, {}).find("best"), std::string::npos);
  result.best = BestStep{.step = 200, .metric = "accuracy", .value = 0.81};
  EXPECT_NE(done_event(result, {}).find(",\"best\":{\"step\":200,\"metric\":\"accuracy\",\"value\":0.81},\"weights\":"),
            std::string::npos)
      << done_event(result, {});
}

TEST(JsonEventsTest, Done) {
  TrainResult result;
  result.reason = "end of data";
  result.steps = 174;
  result.rows = 4000;
  result.epochs = 2;
  result.seconds = 1.5;
  result.last_batch = 21;
  result.loss = std::numeric_limits<double>::quiet_NaN();
  result.weights = "abc";
  result.input.bad_rows = 3;
  result.input.dropped = {{"filter", 4}, {"last partial batch", 5}};
  const std::string text = done_event(result, {});
  EXPECT_EQ(text.substr(0, text.find(",\"input_wait\"")),
            "{\"v\":1,\"event\":\"done\",\"reason\":\"end of data\",\"steps\":174,\"resumed\":null,\"rows\":4000,"
            "\"epochs\":2,\"seconds\":1.5,\"last_batch\":21,\"loss\":\"NaN\",\"metrics\":{},\"skipped_steps\":0,"
            "\"dropped\":9,\"bad\":3,"
            "\"weights\":\"abc\",\"saved\":null,\"saved_last\":null,\"checkpoints\":null");
  result.saved = "m.safetensors";
  result.saved_last = "m.last.safetensors";
  EXPECT_NE(done_event(result, {}).find(",\"saved\":\"m.safetensors\",\"saved_last\":\"m.last.safetensors\","),
            std::string::npos)
      << done_event(result, {});
}

TEST(JsonEventsTest, WhatCheckpointsDo) {
  EXPECT_EQ(resume_event({.step = 500, .file = "a/checkpoint-000000500.safetensors", .notes = {"device"}}),
            "{\"v\":1,\"event\":\"resume\",\"step\":500,\"file\":\"a/checkpoint-000000500.safetensors\"}\n");
  EXPECT_EQ(checkpoint_event({.step = 7, .file = "c"}),
            "{\"v\":1,\"event\":\"checkpoint\",\"step\":7,\"file\":\"c\"}\n");
}

TEST(JsonEventsTest, DoneWithCheckpoints) {
  TrainResult result;
  result.steps = 600;
  result.resumed = 500;
  const auto has = [&](const std::string& part) {
    const std::string text = done_event(result, {});
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  has(",\"steps\":600,\"resumed\":500,");
  result.checkpoints = {.written = 4,
                        .late = 1,
                        .failed = 0,
                        .failure = {},
                        .file = "c",
                        .bytes = 4096,
                        .copy_seconds = 0.25,
                        .write_seconds = 1.5};
  has(",\"checkpoints\":{\"written\":4,\"late\":1,\"failed\":0,\"failure\":null,\"file\":\"c\",\"bytes\":4096,"
      "\"copy_seconds\":0.25,\"write_seconds\":1.5},");
  result.checkpoints = {.failed = 2, .failure = "no space"};
  has("\"failed\":2,\"failure\":\"no space\",\"file\":null,");
}

TEST(JsonEventsTest, DoneOfAnInputAlone) {
  InputResult result{.reason = "end of data", .input = {}, .seconds = 2};
  result.input.rows = 4000;
  result.input.batches = 174;
  result.input.passes = 2;
  result.input.bad_rows = 3;
  result.input.dropped = {{"filter", 4}, {"take", 1}};
  EXPECT_EQ(done_event(result),
            "{\"v\":1,\"event\":\"done\",\"reason\":\"end of data\",\"batches\":174,\"rows\":4000,\"epochs\":2,"
            "\"dropped\":5,\"bad\":3,\"seconds\":2}\n");
}

CheckReport checked() {
  return {.rows = "features: float32 (2), label: float32 (1)",
          .batch_size = 23,
          .model = "dense: 3 parameters\n3 parameters\n",
          .parameters = 3,
          .memory_bound = 1536,
          .rows_read = 23,
          .warnings = {"capacity 79 raised"}};
}

TEST(JsonEventsTest, Check) {
  EXPECT_EQ(check_event(checked(), nullptr),
            "{\"v\":1,\"event\":\"check\",\"rows\":\"features: float32 (2), label: float32 (1)\",\"batch_size\":23,"
            "\"parameters\":3,\"memory_bound\":1536,\"rows_read\":23,\"warnings\":[\"capacity 79 raised\"]}\n");
}

TEST(JsonEventsTest, CheckWithAConfiguration) {
  const Spec config = parse_yaml("{seed: 23}", "c.yaml");
  EXPECT_TRUE(check_event(checked(), &config).ends_with(",\"config\":{\"seed\":23}}\n"));
}

TEST(JsonEventsTest, EvaluationHasEveryDigit) {
  EXPECT_EQ(evaluation_event(
                {.rows = 1000, .files = 4, .loss = 0.4312345678901, .metrics = {{"accuracy", 0.81}}, .seconds = 0.5}),
            "{\"v\":1,\"event\":\"evaluation\",\"rows\":1000,\"loss\":0.4312345678901,"
            "\"metrics\":{\"accuracy\":0.81},\"seconds\":0.5}\n");
  EXPECT_EQ(evaluation_event({.loss = std::numeric_limits<double>::quiet_NaN()}),
            "{\"v\":1,\"event\":\"evaluation\",\"rows\":0,\"loss\":\"NaN\",\"metrics\":{},\"seconds\":0}\n");
}

TEST(JsonEventsTest, Log) {
  EXPECT_EQ(log_event("warning: \"x\""), "{\"v\":1,\"event\":\"log\",\"message\":\"warning: \\\"x\\\"\"}\n");
}

}  // namespace
}  // namespace millrace::cli
