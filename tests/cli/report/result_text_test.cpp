#include "millrace/cli/report/result_text.h"

#include <gtest/gtest.h>

#include <limits>

#include "millrace/cli/report/json_events.h"
#include "millrace/trainer/config/catalog.h"

namespace millrace::cli {
namespace {

TrainResult example() {
  TrainResult result;
  result.reason = "end of data";
  result.steps = 174;
  result.rows = 4000;
  result.epochs = 2;
  result.seconds = 2;
  result.last_batch = 21;
  result.loss = 0.31234567;
  result.metrics = {{"accuracy", 18.0 / 21}};
  result.weights = "abc";
  result.input_wait = 0.031;
  return result;
}

TEST(ResultTextTest, SaysWhatWasDone) {
  TrainResult result = example();
  result.saved = "m.safetensors";
  EXPECT_EQ(result_text(result),
            "end of data: 174 steps, 4000 rows, 2 epochs in 2.0 s (2000 rows/s, input wait 3%)\n"
            "last batch: 21 rows  loss 0.3123  accuracy 0.8571\n"
            "left out: nothing\n"
            "weights: abc\n"
            "model: m.safetensors\n");
}

TEST(ResultTextTest, SaysHowToKeepAModelThatWasNot) {
  const std::string text = result_text(example());
  EXPECT_TRUE(text.ends_with("model: not kept; --save FILE or the key save keeps it\n")) << text;
}

TEST(ResultTextTest, SaysWhichModelWasKept) {
  TrainResult result = example();
  result.best = BestStep{.step = 100, .metric = "accuracy", .value = 0.8123456};
  const std::string text = result_text(result);
  EXPECT_NE(text.find("\nbest: step 100  accuracy 0.8123  (the model's parameters)\nleft out: "), std::string::npos)
      << text;
}

TEST(ResultTextTest, SaysWhereTheLastModelIs) {
  TrainResult result = example();
  result.saved = "m.safetensors";
  result.saved_last = "m.last.safetensors";
  const std::string text = result_text(result);
  EXPECT_TRUE(text.ends_with("\nmodel: m.safetensors\nlast: m.last.safetensors  (the model of step 174)\n")) << text;
}

TEST(ResultTextTest, SaysWhatBecameOfCheckpoints) {
  TrainResult result = example();
  EXPECT_EQ(result_text(result).find("checkpoint"), std::string::npos);
  result.checkpoints = {.written = 4, .file = "a/checkpoint-000000174.safetensors"};
  EXPECT_TRUE(
      result_text(result).ends_with("\ncheckpoints: 4 written; the newest is a/checkpoint-000000174.safetensors\n"))
      << result_text(result);
  result.checkpoints.late = 3;
  result.checkpoints.failed = 2;
  result.checkpoints.failure = "a: writing failed: No space left on device";
  EXPECT_TRUE(result_text(result).ends_with(
      "\ncheckpoints: 4 written, 3 late, because another one was being written, 2 failed (a: writing failed: No space "
      "left on device); the newest is a/checkpoint-000000174.safetensors\n"))
      << result_text(result);
  result.checkpoints = {.failed = 1, .failure = "x"};
  EXPECT_TRUE(result_text(result).ends_with("\ncheckpoints: 0 written, 1 failed (x); there is none\n"));
}

// Steps and rows are of the whole training, but the time is this run's.
TEST(ResultTextTest, OfATrainingThatWentOn) {
  TrainResult result = example();
  result.resumed = 100;
  EXPECT_TRUE(result_text(result).starts_with(
      "end of data: 174 steps, 4000 rows, 2 epochs in 2.0 s (from step 100 on, input wait 3%)\nlast batch: "))
      << result_text(result);
  result.resumed = 174;
  const std::string complete = "\nthe training was complete already: nothing was left to train\nlast batch: ";
  EXPECT_NE(result_text(result).find(complete), std::string::npos) << result_text(result);
  result.reason = "stopped";
  EXPECT_EQ(result_text(result).find("complete"), std::string::npos);
}

TEST(ResultTextTest, RunWithoutABatchHasNoLastBatch) {
  TrainResult result;
  result.reason = "end of data";
  result.weights = "abc";
  result.saved = "m";
  EXPECT_EQ(result_text(result),
            "end of data: 0 steps, 0 rows, 0 epochs in 0.000 s\nleft out: nothing\nweights: abc\nmodel: m\n");
}

TEST(ResultTextTest, EveryCauseIsCounted) {
  InputResult result;
  result.input.dropped = {{"last partial batch", 8}, {"filter", 1}};
  result.input.bad_rows = 2;
  EXPECT_TRUE(result_text(result).ends_with("\nleft out: 8 rows (last partial batch), 1 row (filter), 2 bad rows\n"));
  result.input.dropped.clear();
  EXPECT_TRUE(result_text(result).ends_with("\nleft out: 2 bad rows\n"));
}

InputResult input_example() {
  InputResult result{.reason = "end of data", .input = {}, .seconds = 2};
  result.input.rows = 4000;
  result.input.batches = 174;
  result.input.passes = 2;
  result.input.bytes = 4u << 20;
  result.input.bad_rows = 3;
  result.input.dropped = {{"filter", 4}, {"take", 1}};
  return result;
}

TEST(ResultTextTest, OfAnInputAlone) {
  EXPECT_EQ(result_text(input_example()),
            "end of data: 174 batches, 4000 rows, 2 epochs in 2.0 s (2000 rows/s, 2.0 MiB/s)\n"
            "left out: 4 rows (filter), 1 row (take), 3 bad rows\n");
}

TEST(ResultTextTest, NothingOfBytesWhereASourceReadsNone) {
  InputResult result = input_example();
  result.input.bytes = 0;
  result.input.dropped = {};
  EXPECT_EQ(result_text(result),
            "end of data: 174 batches, 4000 rows, 2 epochs in 2.0 s (2000 rows/s)\nleft out: 3 bad rows\n");
}

TEST(ResultTextTest, OneOfEachOfAnInput) {
  InputResult result{.reason = "batches", .input = {}};
  result.input.rows = result.input.batches = result.input.passes = 1;
  EXPECT_EQ(result_text(result), "batches: 1 batch, 1 row, 1 epoch in 0.000 s\nleft out: nothing\n");
}

CheckReport check_example() {
  return {.rows = "features: float32 (2), label: float32 (1)",
          .batch_size = 23,
          .model = "dense: 3 parameters\n3 parameters\n",
          .parameters = 3,
          .memory_bound = 1536,
          .rows_read = 23,
          .warnings = {"capacity 79 raised"}};
}

TEST(ResultTextTest, Check) {
  EXPECT_EQ(check_text(check_example()),
            "input: batches of 23 rows, features: float32 (2), label: float32 (1)\n"
            "model:\n"
            "  dense: 3 parameters\n"
            "  3 parameters\n"
            "memory: at most 1.5 KiB (1536 bytes)\n"
            "data: the first 23 rows make sense\n"
            "warning: capacity 79 raised\n"
            "everything fits; nothing was trained\n");
}

TEST(ResultTextTest, SaysWhatTheBoundLeavesOut) {
  CheckReport report = check_example();
  report.varies = true;
  EXPECT_NE(check_text(report).find(" bytes), without strings and ragged fields\n"), std::string::npos);
}

TEST(ResultTextTest, ModelWithoutAFinalLineEnd) {
  CheckReport report = check_example();
  report.model = "one line";
  EXPECT_NE(check_text(report).find("model:\n  one line\nmemory:"), std::string::npos);
}

TEST(ResultTextTest, EvaluationSaysRowsLossAndMetrics) {
  EXPECT_EQ(
      evaluation_text(
          {.rows = 1000, .files = 4, .loss = 0.431234, .metrics = {{"accuracy", 0.81}, {"auc", 0.9}}, .seconds = 0.5}),
      "1000 rows of 4 files in 0.500 s (2000 rows/s)\nloss 0.4312  accuracy 0.81  auc 0.9\n");
  EXPECT_EQ(evaluation_text({.rows = 1, .files = 1, .loss = std::numeric_limits<double>::quiet_NaN()}),
            "1 row of 1 file in 0.000 s\nloss nan\n");
  EXPECT_EQ(evaluation_text({.rows = 3, .loss = 0.5}), "3 rows in 0.000 s\nloss 0.5\n");
}

TEST(ResultTextTest, EvaluationSaysByWhatRowsAreWeighted) {
  EXPECT_EQ(evaluation_text({.rows = 3, .loss = 0.5, .weight = "w", .unweighted = "loss.mse.weight=null"}),
            "3 rows in 0.000 s\nloss 0.5\nrows are weighted by w; --set loss.mse.weight=null counts all alike\n");
}

TEST(ResultTextTest, MetricsOfTheLabelsUnitAreGivenInItToo) {
  const Catalog catalog = Catalog::builtin();
  std::vector<NamedMetric> kinds;
  MetricValues values;
  for (const char* kind : {"mae", "rmse", "mse", "r2"}) {
    kinds.push_back(
        {kind, catalog.layers.metrics.make(catalog.layers.metrics.read(Spec::of(kind), "a metric"), Spec::of(kind))});
    values.emplace_back(kind, 0.5);
  }
  const FieldHistory label = {.field = "price", .scale = {-100}, .offset = {7}};
  const MetricValues expected = {{"mae", 50}, {"rmse", 50}, {"mse", 5000}};
  EXPECT_EQ(in_label_unit(values, kinds, label), expected);
  EXPECT_TRUE(in_label_unit(values, kinds, {.field = "price"}).empty());
  EXPECT_TRUE(in_label_unit(values, kinds, {.field = "price", .scale = {2}, .complete = false}).empty());
  const EvaluationResult result{.rows = 1, .files = 1, .metrics = {{"mae", 0.5}}, .in_label_unit = {{"mae", 50}}};
  EXPECT_EQ(evaluation_text(result), "1 row of 1 file in 0.000 s\nloss 0  mae 0.5\nin the label's own unit: mae 50\n");
  EXPECT_NE(evaluation_event(result).find("\"metrics\":{\"mae\":0.5},\"label_unit\":{\"mae\":50}"), std::string::npos);
}

TEST(ResultTextTest, SaysWhereAnAccuracyIsThatOfTheCommonestClass) {
  const auto text = [](double accuracy) {
    return evaluation_text(
        {.rows = 8, .files = 1, .loss = 0.5, .metrics = {{"accuracy", accuracy}}, .commonest_class = 0.75});
  };
  EXPECT_TRUE(text(0.75).ends_with(
      "accuracy 0.75\nthe accuracy is no better than always naming the commonest class, which 75% of the rows have\n"))
      << text(0.75);
  EXPECT_TRUE(text(0.875).ends_with("accuracy 0.875\n"));
  const std::string event = evaluation_event({.metrics = {{"accuracy", 1}}, .commonest_class = 0.75});
  EXPECT_NE(event.find("\"metrics\":{\"accuracy\":1},\"commonest_class\":0.75,"), std::string::npos) << event;
}

TEST(ResultTextTest, MetricsStandSideBySide) {
  EXPECT_EQ(loss_text(0.5, {{"accuracy", 0.5}, {"error", 0.25}}), "loss 0.5  accuracy 0.5  error 0.25");
  EXPECT_EQ(loss_text(0.5, {}), "loss 0.5");
}

}  // namespace
}  // namespace millrace::cli
