#include "millrace/cli/speed/diagnosis_text.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace millrace::cli {
namespace {

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
