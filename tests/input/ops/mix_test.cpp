#include <algorithm>
#include <cmath>

#include "millrace/core/random.h"
#include "tests/input/graph_check.h"

namespace millrace {
namespace {

using testing_support::add_counting_files;
using testing_support::error_of;
using testing_support::GraphCheck;
using testing_support::Lines;
using testing_support::MemoryFiles;
using testing_support::reading;

class MixTest : public ::testing::Test {
 protected:
  MixTest() { add_counting_files(files_, 40, 30); }
  GraphCheck graph(const std::string& mix, const std::string& epochs = ", epochs: 1", int batch_size = 16) {
    return {files_, cat(reading("a.csv", "a", epochs), reading("b.csv", "b", epochs), mix,
                        "- batch: {batch_size: ", batch_size, ", allow_smaller_final_batch: true}\n")};
  }
  static std::string files_of(const Lines& lines) {
    std::string out;
    for (const std::string& line : lines) {
      if (line != "--") out += line.front();
    }
    return out;
  }
  MemoryFiles files_;
};

// As the head of mix.cpp says.
std::string drawn(int64_t rows_of_a, int64_t rows_of_b, double weight_a, double weight_b, bool stop_first) {
  std::string out;
  for (uint64_t draw = 0; rows_of_a >= 0 || rows_of_b >= 0; ++draw) {
    const double a = rows_of_a >= 0 ? weight_a : 0, b = rows_of_b >= 0 ? weight_b : 0;
    const bool is_a = to_unit(philox64(23, fnv1a64("mix"), draw)) * (a + b) < a;
    int64_t& left = is_a ? rows_of_a : rows_of_b;
    if (left > 0) out += is_a ? 'a' : 'b';
    // Without rows it leaves the draw.
    if (--left < 0 && stop_first) return out;
  }
  return out;
}

TEST_F(MixTest, DrawsTheInputOfEachRow) {
  EXPECT_EQ(files_of(graph("- mix: {from: [a, b]}\n").check()), drawn(40, 30, 1, 1, true));
  EXPECT_EQ(files_of(graph("- mix: {from: [a, b], weights: [3, 1]}\n").check()), drawn(40, 30, 3, 1, true));
  EXPECT_EQ(files_of(graph("- mix: {from: [a, b], weights: [0.25, 0.5], stop: all}\n").check()),
            drawn(40, 30, 0.25, 0.5, false));
}

TEST_F(MixTest, GivesEveryRowInItsOrderWhenItStopsWithAll) {
  const Lines lines = graph("- mix: {from: [a, b], stop: all}\n", ", epochs: 1", 100).check();
  ASSERT_EQ(lines.size(), 70u);
  Lines of_a;
  std::copy_if(lines.begin(), lines.end(), std::back_inserter(of_a), [](const std::string& l) { return l[0] == 'a'; });
  for (size_t i = 0; i < of_a.size(); ++i) EXPECT_TRUE(of_a[i].starts_with(cat("a.csv:", i + 1, ' '))) << of_a[i];
  EXPECT_EQ(of_a.size(), 40u);
}

TEST_F(MixTest, AnInputOfNoWeightIsNeverDrawn) {
  EXPECT_EQ(files_of(graph("- mix: {from: [a, b], weights: [0, 2], stop: all}\n").check()), std::string(30, 'b'));
}

TEST_F(MixTest, DrawsInProportion) {
  const std::string of = files_of(graph("- mix: {from: [a, b], weights: [3, 1]}\n", "", 4000).run(10));
  ASSERT_EQ(of.size(), 40000u);
  const auto a = static_cast<double>(std::count(of.begin(), of.end(), 'a'));
  EXPECT_NEAR(a, 30000, 5 * std::sqrt(40000 * 0.75 * 0.25));
}

TEST_F(MixTest, MixesAnewInEveryRun) {
  const std::string of = files_of(graph("- mix: {from: [a, b], stop: all}\n- repeat: {epochs: 2}\n").check());
  ASSERT_EQ(of.size(), 140u);
  EXPECT_NE(of.substr(0, 70), of.substr(70));
}

TEST_F(MixTest, RefusesWeightsThatDoNotFit) {
  const auto refused = [&](const std::string& weights) {
    return error_of([&] { graph(cat("- mix: {from: [a, b], weights: ", weights, "}\n")).graph(); });
  };
  EXPECT_EQ(refused("[1, 2, 3]"), "input.yaml:7:3: [6]: weights: expected one number for each of the 2 inputs, got 3");
  EXPECT_EQ(refused("[0, 0]"), "input.yaml:7:3: [6]: weights: expected at least one above 0");
  EXPECT_NE(refused("[1, -1]").find("expected at least 0"), std::string::npos) << refused("[1, -1]");
}

TEST_F(MixTest, ShortEndlessInputWaitsForTheRowsOfALongOne) {
  files_.files["b.csv"] = "0,0\n";
  const std::string mix = "- mix: {from: [a, b], weights: [1, 9]}\n- filter: {field: x, op: \"==\", value: ";
  EXPECT_EQ(graph(mix + "40}\n- take: {rows: 3}\n", "").check(), Lines(3, "a.csv:40 x=40 y=20"));
  EXPECT_EQ(graph(mix + "99}\n- take: {rows: 3}\n", "").check(),
            (Lines{"error filter: the data has no row to give, and without epochs it would be read forever; check what "
                   "the files hold and what is left out, or set epochs"}));
}

}  // namespace
}  // namespace millrace
