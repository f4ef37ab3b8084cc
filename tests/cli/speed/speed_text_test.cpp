#include "millrace/cli/speed/speed_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace millrace::cli {
namespace {

using ::testing::HasSubstr;

SpeedReport example() {
  SpeedReport out;
  out.device = "cpu";
  out.threads = 4;
  out.batch_size = 256;
  out.input_rows_per_second = 64000;
  out.input_bytes_per_second = 1024.0 * 1024 * 700;
  out.step = {.median = 0.002, .min = 0.0019, .max = 0.0025};
  out.together = {.median = 0.005, .min = 0.0048, .max = 0.0052};
  out.noise = 0.015;
  out.bottleneck = Bottleneck::input;
  out.op = "shuffle_batch";
  out.ops = {{.name = "decode_csv", .busy_seconds = 3}, {.name = "csv_reader", .busy_seconds = 1}};
  out.tried = {{.key = "input.shuffle_batch.threads", .from = "2", .to = "4", .expected_gain = 1.625, .why = "why"},
               {.key = "delivery", .from = "", .to = "native", .expected_gain = 1.01, .why = "so"}};
  out.advice = out.tried[0];
  return out;
}

TEST(SpeedText, NamesTheBottleneckAndWhatToChange) {
  EXPECT_EQ(speed_text(example()),
            "cpu on 4 threads, batches of 256 rows\n"
            "input alone  4 ms a batch  (64000 rows/s, 700 MiB/s)\n"
            "step alone   2 ms  (1.9 .. 2.5)\n"
            "together     5 ms  (4.8 .. 5.2), noise 1.5%\n"
            "input's time decode_csv 75%, csv_reader 25%\n"
            "bottleneck   the input: the input makes a step 150% longer, most of all decode_csv\n"
            "tried: input.shuffle_batch.threads=4 1.62x, delivery=native 1.01x\n"
            "advice: set input.shuffle_batch.threads=4 (now 2): why; measured: 1.62 times as fast\n");
}

TEST(SpeedText, HasNoAdviceWhereNothingHelps) {
  SpeedReport report = example();
  report.advice.reset();
  EXPECT_THAT(speed_text(report),
              HasSubstr("advice: none of the keys that were tried makes it faster by more than a tenth and the noise: "
                        "shuffle_batch wants fewer or cheaper values, or more processors\n"));
  report.bottleneck = Bottleneck::step;
  report.together = report.step;
  report.tried.clear();
  EXPECT_THAT(speed_text(report), HasSubstr("bottleneck   the step: the input costs less than the noise\n"
                                            "advice: nothing in the input is worth changing"));
  report.bottleneck = Bottleneck::none;
  EXPECT_THAT(speed_text(report), HasSubstr("bottleneck   none: step and input share the processors"));
}

TEST(SpeedText, SaysThatTheMachineIsNoisy) {
  SpeedReport report = example();
  report.noise = 0.25;
  EXPECT_THAT(speed_text(report), HasSubstr("noise 25.0%\n"));
  EXPECT_THAT(speed_text(report),
              HasSubstr("\nthe machine is noisy: measure again when fewer other programs run on it\n"));
}

TEST(SpeedJson, IsTheContract) {
  const nlohmann::json json = nlohmann::json::parse(speed_json(example()));
  EXPECT_EQ(json["v"], 1);
  EXPECT_EQ(json["input"]["rows_per_s"], 64000.0);
  EXPECT_EQ(json["input"]["bytes_per_s"], 1024.0 * 1024 * 700);
  EXPECT_EQ(json["step"]["ms"]["median"], 2.0);
  EXPECT_EQ(json["step"]["ms"]["min"], 1.9);
  EXPECT_EQ(json["step"]["ms"]["max"], 2.5);
  EXPECT_EQ(json["together"]["ms"]["median"], 5.0);
  EXPECT_EQ(json["noise"], 0.015);
  EXPECT_EQ(json["bottleneck"], "input");
  EXPECT_EQ(json["op"], "shuffle_batch");
  EXPECT_EQ(json["key"], "input.shuffle_batch.threads");
  EXPECT_EQ(json["from"], 2);
  EXPECT_EQ(json["to"], 4);
  EXPECT_EQ(json["expected_gain"], 1.625);
  EXPECT_THAT(json["advice"].get<std::string>(), HasSubstr("set input.shuffle_batch.threads=4"));
  ASSERT_EQ(json["tried"].size(), 2u);
  EXPECT_TRUE(json["tried"][1]["from"].is_null());
  EXPECT_EQ(json["tried"][1]["to"], "native");
}

TEST(SpeedJson, HasNullsWithoutAdvice) {
  SpeedReport report = example();
  report.advice.reset();
  const nlohmann::json json = nlohmann::json::parse(speed_json(report));
  for (const char* key : {"key", "from", "to", "expected_gain"}) EXPECT_TRUE(json[key].is_null()) << key;
}

}  // namespace
}  // namespace millrace::cli
