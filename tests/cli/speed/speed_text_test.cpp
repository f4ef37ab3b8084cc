#include "millrace/cli/speed/speed_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace millrace::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

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
  out.workers = 2;
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
            "advice: set input.shuffle_batch.threads=4 (now 2): why; measured: 1.62 times as fast\n"
            "workers: about 2 machines like this one would decode as fast as the step goes (trainer worker)\n");
}

TEST(SpeedText, SaysWhetherWorkersWouldHelp) {
  SpeedReport report = example();
  report.workers = 1;
  EXPECT_THAT(speed_text(report), HasSubstr("\nworkers: one machine like this one would decode"));
  report.workers = 0;
  report.diagnosis.serial_op = "csv_reader";
  EXPECT_THAT(speed_text(report), HasSubstr("\nworkers: they would not help: csv_reader reads in order\n"));
  report.bottleneck = Bottleneck::step;
  EXPECT_THAT(speed_text(report), HasSubstr("\nworkers: they would not help: the step hardly waits for the input\n"));
  report.workers.reset();
  EXPECT_THAT(speed_text(report), Not(HasSubstr("workers")));
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
  EXPECT_EQ(json["workers"], 2);
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

DeliveryStatistics example_delivery() {
  DeliveryStatistics out;
  out.input.ops = {{.name = "csv_reader", .busy_seconds = 1, .blocked_seconds = 0.5, .rows = 10, .bytes = 1000},
                   {.name = "decode_csv", .busy_seconds = 3, .blocked_seconds = 0.5, .rows = 10, .bytes = 1000},
                   {.name = "skip", .busy_seconds = 0.001},
                   {.name = "shuffle_batch", .busy_seconds = 0.5, .rows = 10, .mean_held = 511.6, .capacity = 1024}};
  return out;
}

Diagnosis example_diagnosis() {
  Diagnosis out;
  out.bottleneck = Bottleneck::input;
  out.op = "shuffle_batch";
  out.make_share = 0.125;
  out.wait_share = 0.5;
  out.copy_share = 0.25;
  out.input_share = 0.38;
  out.advice = {{.key = "input.shuffle_batch.threads",
                 .from = "1",
                 .to = "4",
                 .expected_gain = 1.84,
                 .why = "at most 1 task may decode at once, on 4 threads"}};
  return out;
}

TEST(DiagnosisText, SaysWhereTheInputsTimeWentAndWhatToChange) {
  EXPECT_EQ(diagnosis_text(example_diagnosis(), example_delivery()),
            "input: 38% of the processors' time: decode_csv 67%, csv_reader 22%, shuffle_batch 11% of it; "
            "512 of 1024 rows waited at shuffle_batch on average\n"
            "advice: set input.shuffle_batch.threads=4 (now 1): at most 1 task may decode at once, on 4 threads; about "
            "1.8 times as fast\n");
}

TEST(DiagnosisText, WithoutAdviceIsOneLine) {
  Diagnosis diagnosis = example_diagnosis();
  diagnosis.advice.clear();
  DeliveryStatistics delivery = example_delivery();
  delivery.input.ops.pop_back();
  delivery.mean_queued = 2.25;
  delivery.capacity = 5;
  EXPECT_EQ(
      diagnosis_text(diagnosis, delivery),
      "input: 38% of the processors' time: decode_csv 75%, csv_reader 25% of it; the queue held 2.2 of 5 batches\n");
}

TEST(DiagnosisText, SaysNoCapacityWhereChunksAreLarger) {
  DeliveryStatistics delivery = example_delivery();
  delivery.input.ops[3].capacity = 4;
  EXPECT_NE(diagnosis_text({}, delivery).find("512 rows waited at shuffle_batch on average, as chunks are that large"),
            std::string::npos);
}

TEST(DiagnosisText, SaysWhatValidationsTook) {
  Diagnosis diagnosis = example_diagnosis();
  diagnosis.advice.clear();
  diagnosis.validation_share = 0.64;
  const std::string text = diagnosis_text(diagnosis, example_delivery());
  EXPECT_TRUE(text.ends_with("on average\nvalidation: 64% of the time\n")) << text;
  diagnosis.validation_share = 0.2;
  EXPECT_EQ(diagnosis_text(diagnosis, example_delivery()).find("validation"), std::string::npos);
}

TEST(DiagnosisText, SaysWhatOneThreadDoesAtATime) {
  Diagnosis diagnosis = example_diagnosis();
  diagnosis.serial_op = "csv_reader";
  EXPECT_THAT(
      diagnosis_text(diagnosis, example_delivery()),
      HasSubstr("on average\nslow: csv_reader inflates on one thread at a time; bgzip's files, zstd frames that "
                "tell their size, and several files with readers are read in parallel\nadvice: "));
  SpeedReport report = example();
  report.advice.reset();
  report.diagnosis = diagnosis;
  EXPECT_THAT(speed_text(report), HasSubstr("by more than a tenth and the noise: csv_reader inflates on one thread"));
}

TEST(DiagnosisText, OfNothingIsNothing) { EXPECT_EQ(diagnosis_text({}, {}), ""); }

TEST(AdviceText, OfAnAbsentKeySaysNoValue) {
  EXPECT_EQ(advice_text({.key = "delivery", .from = "", .to = "native", .why = "so"}), "set delivery=native: so");
}

TEST(DiagnosisJson, HoldsAllThatIsKnown) {
  JsonText json;
  json.open('{');
  add_diagnosis(json, example_diagnosis(), example_delivery());
  json.close('}');
  const nlohmann::json found = nlohmann::json::parse(json.text());
  EXPECT_EQ(found["input"]["make"], 0.125);
  EXPECT_EQ(found["input"]["wait"], 0.5);
  EXPECT_EQ(found["input"]["copy"], 0.25);
  EXPECT_EQ(found["input"]["processors"], 0.38);
  EXPECT_TRUE(found["input"]["queue_occupancy"].is_null());
  ASSERT_EQ(found["input"]["ops"].size(), 4u);
  EXPECT_EQ(found["input"]["ops"][1]["name"], "decode_csv");
  EXPECT_EQ(found["input"]["ops"][1]["busy_s"], 3.0);
  EXPECT_EQ(found["input"]["ops"][1]["blocked_s"], 0.5);
  EXPECT_TRUE(found["input"]["ops"][1]["held"].is_null());
  EXPECT_EQ(found["input"]["ops"][3]["held"], 511.6);
  EXPECT_EQ(found["input"]["ops"][3]["capacity"], 1024);
  EXPECT_EQ(found["bottleneck"], "input");
  EXPECT_EQ(found["op"], "shuffle_batch");
  EXPECT_EQ(found["key"], "input.shuffle_batch.threads");
  EXPECT_EQ(found["from"], 1);
  EXPECT_EQ(found["to"], 4);
  EXPECT_EQ(found["expected_gain"], 1.84);
}

TEST(DiagnosisJson, WithoutAdviceHasNulls) {
  JsonText json;
  json.open('{');
  add_diagnosis(json, {}, {});
  json.close('}');
  const nlohmann::json found = nlohmann::json::parse(json.text());
  for (const char* key : {"op", "key", "from", "to", "expected_gain", "advice"})
    EXPECT_TRUE(found[key].is_null()) << key;
  EXPECT_EQ(found["bottleneck"], "none");
}

}  // namespace
}  // namespace millrace::cli
