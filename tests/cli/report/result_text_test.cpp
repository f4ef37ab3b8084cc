#include "millrace/cli/report/result_text.h"

#include <gtest/gtest.h>

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

TEST(ResultTextTest, MetricsStandSideBySide) {
  EXPECT_EQ(metrics_text({{"accuracy", 0.5}, {"error", 0.25}}), "accuracy 0.5  error 0.25");
  EXPECT_EQ(metrics_text({}), "");
  EXPECT_EQ(loss_text(0.5, {{"accuracy", 0.25}}), "loss 0.5  accuracy 0.25");
  EXPECT_EQ(loss_text(0.5, {}), "loss 0.5");
}

}  // namespace
}  // namespace millrace::cli
