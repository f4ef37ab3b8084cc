#include "tests/input/graph_check.h"

namespace millrace {
namespace {

using testing_support::add_counting_files;
using testing_support::GraphCheck;
using testing_support::Lines;
using testing_support::MemoryFiles;
using testing_support::reading;

class SkipTest : public ::testing::Test {
 protected:
  SkipTest() { add_counting_files(files_, 5, 0); }
  GraphCheck graph(const std::string& ops) {
    return {files_, reading("a.csv") + ops + "- batch: {batch_size: 2, allow_smaller_final_batch: true}\n"};
  }
  MemoryFiles files_;
};

TEST_F(SkipTest, LeavesOutTheFirstRowsAndCountsThem) {
  const GraphCheck three = graph("- skip: {rows: 3}\n");
  EXPECT_EQ(three.check(), (Lines{"a.csv:4 x=4 y=2", "a.csv:5 x=5 y=2.5"}));
  EXPECT_EQ(three.dropped(), Lines{"skip 3"});
  EXPECT_EQ(graph("- skip: {rows: 0}\n").check().size(), 5u + 2u);
  EXPECT_EQ(graph("- skip: {rows: 6}\n").check(), Lines{});
  EXPECT_EQ(graph("- skip: {rows: 6}\n").dropped(), Lines{"skip 5"});
}

TEST_F(SkipTest, CountsAnewInEveryRun) {
  const GraphCheck twice = graph("- skip: {rows: 4}\n- repeat: {epochs: 2}\n");
  EXPECT_EQ(twice.check(), (Lines{"a.csv:5 x=5 y=2.5", "a.csv:5 x=5 y=2.5"}));
  EXPECT_EQ(twice.dropped(), Lines{"skip 8"});
}

TEST_F(SkipTest, ABadRowAmongThoseIsAnErrorAllTheSame) {
  files_.files["a.csv"] = "1,0.5\n2,x\n3,1\n";
  EXPECT_EQ(graph("- skip: {rows: 2}\n").run(), Lines{"error a.csv:2:3: column 1 (y): expected float32, got \"x\""});
}

}  // namespace
}  // namespace millrace
