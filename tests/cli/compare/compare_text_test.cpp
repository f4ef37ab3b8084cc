#include "millrace/cli/compare/compare_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/cli/compare/example_comparison.h"

namespace millrace::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(CompareText, IsATableAndWhatFollowsFromIt) {
  EXPECT_EQ(
      compare_text(example_comparison()),
      R"(100 steps of 256 rows on 2 threads of Example <1>: 5 rounds, the first 10 steps of each training not timed

delivery  ms a step  (min .. max)        rows/s  over feed  of its bound  weights
feed             10  (9 .. 12)             25600      1.00x         1.05x  94e52000
queue           8.1  (7.29 .. 9.72)        31605      1.23x         1.16x  94e52000
native            8  (7.2 .. 9.6)          32000      1.25x         1.14x  94e52000
constant          5  (4.5 .. 6)            51200      2.00x             -  c0ffee00
noise: 2.0 % (native against itself)

ms of each step  making  waiting  copying    step  batches queued
feed               4.00     0.00     0.50    5.50  -
queue              0.00     0.10     0.20    7.80  3.5 of 5
native             0.20     0.30     0.00    7.50  -
constant           0.00     0.00     0.00    5.00  -

- feed, queue and native trained the same model: weights 94e5200000000000000000000000000000000000000000000000000000000000
- native is 1.25 times as fast as feed, whose thread makes a batch for 4 ms and copies it for 0.5 ms in every step, while the other threads have nothing to do
- queue differs from native by less than the noise
- a step alone takes 5 ms, a batch 4 ms of one thread: with 2 threads native could take 7 ms at best, and takes 1.14 times that
)");
}

TEST(CompareText, SaysNothingOfDifferencesBelowTheNoise) {
  Comparison comparison = example_comparison();
  comparison.noise = 0.3;
  EXPECT_THAT(compare_verdicts(comparison)[1],
              HasSubstr("native and feed differ by less than the noise: making a batch takes 4 ms of a step"));
  comparison = example_comparison();
  comparison.deliveries[2].rows_per_second = 16000;
  EXPECT_EQ(compare_verdicts(comparison)[1], "feed is 1.60 times as fast as native");
}

TEST(CompareText, SaysNotWhichIsFasterAfterFewRounds) {
  Comparison comparison = example_comparison();
  comparison.rounds = 2;
  EXPECT_THAT(
      compare_verdicts(comparison),
      ElementsAre(HasSubstr("trained the same model"), "so few rounds do not say which is faster: set compare.rounds=5",
                  HasSubstr("a step alone takes 5 ms")));
}

TEST(CompareText, OnOneThreadOnlyTheCopyIsSaved) {
  Comparison comparison = example_comparison();
  comparison.threads = 1;
  EXPECT_EQ(compare_verdicts(comparison)[1],
            "native is 1.25 times as fast as feed, which copies every batch for 0.5 ms");
}

TEST(CompareText, EscapesNames) {
  Comparison comparison = example_comparison();
  comparison.deliveries[0].name = "\x1b[31m";
  EXPECT_EQ(compare_text(comparison).find('\x1b'), std::string::npos);
}

TEST(CompareText, TellsThatWeightsDiffer) {
  Comparison comparison = example_comparison();
  comparison.deliveries[2].weights[0] = 'f';
  EXPECT_EQ(compare_verdicts(comparison)[0], "feed, queue and native did NOT end with the same weights: this is a bug");
}

TEST(CompareText, LeavesOutWhatWasNotRun) {
  Comparison comparison = example_comparison();
  comparison.deliveries.erase(comparison.deliveries.begin());
  comparison.deliveries.pop_back();
  for (ComparedDelivery& delivery : comparison.deliveries) delivery.bound_seconds.reset();
  EXPECT_THAT(compare_verdicts(comparison), ElementsAre(HasSubstr("queue and native trained the same model"),
                                                        "queue differs from native by less than the noise"));
  EXPECT_THAT(compare_text(comparison), Not(HasSubstr("1.25x")));
}

TEST(CompareJson, IsTheContract) {
  const nlohmann::json json = nlohmann::json::parse(compare_json(example_comparison()));
  EXPECT_EQ(json["v"], 1);
  EXPECT_EQ(json["machine"]["processor"], "Example <1>");
  EXPECT_EQ(json["machine"]["threads"], 2);
  EXPECT_EQ(json["batch_size"], 256);
  EXPECT_EQ(json["steps"], 100);
  ASSERT_EQ(json["deliveries"].size(), 4u);
  const nlohmann::json& queue = json["deliveries"][1];
  EXPECT_EQ(queue["kind"], "queue");
  EXPECT_NEAR(queue["ms_per_step"]["median"].get<double>(), 8.1, 1e-9);
  EXPECT_NEAR(queue["ms_per_step"]["min"].get<double>(), 7.29, 1e-9);
  EXPECT_NEAR(queue["ms_per_step"]["max"].get<double>(), 9.72, 1e-9);
  EXPECT_NEAR(queue["rows_per_s"].get<double>(), 256e3 / 8.1, 1e-6);
  EXPECT_NEAR(queue["input_wait"].get<double>(), 0.3 / 8.1, 1e-9);
  EXPECT_EQ(queue["queue_occupancy"], 3.5);
  EXPECT_EQ(queue["queue_capacity"], 5);
  EXPECT_EQ(queue["weights"].get<std::string>().size(), 64u);
  EXPECT_EQ(queue["same_training"], true);
  EXPECT_TRUE(json["deliveries"][0]["queue_occupancy"].is_null());
  EXPECT_NEAR(json["speedup_over_feed"]["native"].get<double>(), 1.25, 1e-9);
  EXPECT_EQ(json["noise"], 0.02);
  EXPECT_EQ(json["equal_weights"], true);
  EXPECT_EQ(json["verdicts"].size(), 4u);
}

}  // namespace
}  // namespace millrace::cli
