#include "tests/input/graph_check.h"

namespace millrace {
namespace {

using testing_support::add_counting_files;
using testing_support::GraphCheck;
using testing_support::Lines;
using testing_support::MemoryFiles;
using testing_support::reading;

class TakeTest : public ::testing::Test {
 protected:
  TakeTest() { add_counting_files(files_, 7, 0); }
  GraphCheck graph(const std::string& ops, const std::string& epochs = ", epochs: 1") {
    return {files_,
            reading("a.csv", "a", epochs) + ops + "- batch: {batch_size: 2, allow_smaller_final_batch: true}\n"};
  }
  MemoryFiles files_;
};

TEST_F(TakeTest, GivesTheFirstRows) {
  EXPECT_EQ(graph("- take: {rows: 3}\n").check(),
            (Lines{"a.csv:1 x=1 y=0.5", "a.csv:2 x=2 y=1", "--", "a.csv:3 x=3 y=1.5"}));
  EXPECT_EQ(graph("- take: {rows: 0}\n").check(), Lines{});
  EXPECT_EQ(graph("- take: {rows: 100}\n").check().size(), 7u + 3u);
  EXPECT_EQ(graph("- take: {rows: 3}\n").dropped(), Lines{}) << "what is behind is not known";
}

TEST_F(TakeTest, MakesAnEndOfEndlessData) {
  EXPECT_EQ(graph("- take: {rows: 3}\n", "").graph().endless_source(), "");
  EXPECT_EQ(graph("", "").graph().endless_source(), "a_reader");
}

TEST_F(TakeTest, TheirRowsMayAllBeLeftOut) {
  const std::string nothing = "- filter: {field: x, op: \"<\", value: 0}\n";
  EXPECT_EQ(graph("- take: {rows: 30}\n" + nothing, "").check(), Lines{});
  EXPECT_EQ(graph(nothing + "- take: {rows: 30}\n", "").check().size(), 1u) << "no row is ever taken";
}

TEST_F(TakeTest, NeverReadsABadRowBehindThem) {
  files_.files["a.csv"] = "1,0.5\n2,x\n";
  EXPECT_EQ(graph("- take: {rows: 1}\n").check(), Lines{"a.csv:1 x=1 y=0.5"});
}

TEST_F(TakeTest, CountsAnewInEveryRun) {
  EXPECT_EQ(graph("- take: {rows: 2}\n- repeat: {epochs: 2}\n").check(),
            (Lines{"a.csv:1 x=1 y=0.5", "a.csv:2 x=2 y=1", "--", "a.csv:1 x=1 y=0.5", "a.csv:2 x=2 y=1"}));
}

}  // namespace
}  // namespace millrace
