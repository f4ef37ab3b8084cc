#include "tests/input/graph_check.h"

namespace millrace {
namespace {

using testing_support::add_counting_files;
using testing_support::error_of;
using testing_support::GraphCheck;
using testing_support::Lines;
using testing_support::MemoryFiles;
using testing_support::reading;

class InterleaveTest : public ::testing::Test {
 protected:
  InterleaveTest() { add_counting_files(files_, 4, 2); }
  GraphCheck graph(const std::string& ops, int batch_size = 100) {
    return {files_, ops + cat("- batch: {batch_size: ", batch_size, ", allow_smaller_final_batch: true}\n")};
  }
  MemoryFiles files_;
};

TEST_F(InterleaveTest, TakesTurnsUntilAllHaveEnded) {
  const std::string both = reading("a.csv", "a") + reading("b.csv", "b");
  EXPECT_EQ(graph(both + "- interleave: {from: [a, b]}\n", 4).check(),
            (Lines{"a.csv:1 x=1 y=0.5", "b.csv:1 x=101 y=50.5", "a.csv:2 x=2 y=1", "b.csv:2 x=102 y=51", "--",
                   "a.csv:3 x=3 y=1.5", "a.csv:4 x=4 y=2"}));
  const std::string three = both + reading("b.csv", "c");
  EXPECT_EQ(graph(three + "- interleave: {from: [b, c, a]}\n").check(),
            (Lines{"b.csv:1 x=101 y=50.5", "b.csv:1 x=101 y=50.5", "a.csv:1 x=1 y=0.5", "b.csv:2 x=102 y=51",
                   "b.csv:2 x=102 y=51", "a.csv:2 x=2 y=1", "a.csv:3 x=3 y=1.5", "a.csv:4 x=4 y=2"}));
}

TEST_F(InterleaveTest, BeginsAnewInEveryRun) {
  const Lines lines =
      graph(reading("a.csv", "a") + reading("b.csv", "b") + "- interleave: {from: [a, b]}\n- repeat: {epochs: 2}\n")
          .check();
  ASSERT_EQ(lines.size(), 12u);
  EXPECT_EQ(Lines(lines.begin(), lines.begin() + 6), Lines(lines.begin() + 6, lines.end()));
}

TEST_F(InterleaveTest, ShufflesLikeAnyOtherRows) {
  const GraphCheck shuffled = {files_, reading("a.csv", "a") + reading("b.csv", "b") +
                                           "- interleave: {from: [a, b]}\n"
                                           "- shuffle_batch: {batch_size: 2, capacity: 9, min_after_dequeue: 2}\n"};
  EXPECT_EQ(shuffled.check().size(), 6u + 2u);
}

TEST_F(InterleaveTest, ShortEndlessInputWaitsForTheRowsOfALongOne) {
  files_.files["short.csv"] = "0,0\n";
  const std::string both = reading("a.csv", "a", "") + reading("short.csv", "short", "") +
                           "- interleave: {from: [a, short]}\n- filter: {field: x, op: \"==\", value: ";
  EXPECT_EQ(graph(both + "4}\n- take: {rows: 3}\n").check(), Lines(3, "a.csv:4 x=4 y=2"));
  EXPECT_EQ(graph(both + "9}\n- take: {rows: 3}\n").check(),
            (Lines{"error filter: the data has no row to give, and without epochs it would be read forever; check what "
                   "the files hold and what is left out, or set epochs"}));
}

TEST_F(InterleaveTest, ABatchMayHoldManyPasses) {
  files_.files["short.csv"] = "0,0\n";
  const GraphCheck check = {files_, reading("short.csv", "a", "") + reading("short.csv", "b", "") +
                                        "- interleave: {from: [a, b]}\n- take: {rows: 600}\n- repeat\n- batch: "
                                        "{batch_size: 600}\n- map: {field: x, offset: 1}\n"};
  Pipeline pipeline(check.graph(), {});
  RowBlock slot = pipeline.make_slot();
  EXPECT_EQ(pipeline.next(slot), 600);
}

TEST_F(InterleaveTest, WantsInputsOfEqualRows) {
  const std::string one = "- interleave\n- batch: {batch_size: 1}\n";
  EXPECT_EQ(error_of([&] { GraphCheck(files_, reading("a.csv") + one).graph(); }),
            "input.yaml:4:3: [3]: interleave joins at least two inputs, got 1; name them in from: [a, b]");
  const std::string other =
      "- filename_queue: {name: f, files: b.csv}\n- csv_reader: {name: r}\n- decode_csv: {name: b, fields: {x: "
      "{columns: "
      "0}}}\n- interleave: {from: [a, b]}\n- batch: {batch_size: 1}\n";
  EXPECT_EQ(
      error_of([&] { GraphCheck(files_, reading("a.csv") + other).graph(); }),
      "input.yaml:7:3: [6]: interleave joins inputs of equal rows, but input 1 gives x: int32 (1), y: float32 (1) "
      "and input 2 gives x: float32 (1)");
}

}  // namespace
}  // namespace millrace
