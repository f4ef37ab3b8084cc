#include "tests/input/graph_check.h"

namespace millrace {
namespace {

using testing_support::error_of;
using testing_support::GraphCheck;
using testing_support::Lines;
using testing_support::MemoryFiles;

class OneHotTest : public ::testing::Test {
 protected:
  OneHotTest() { files_.files["t.csv"] = "0,5\n2,6\n1,7\n"; }
  GraphCheck graph(const std::string& type, const std::string& ops) {
    return {files_,
            cat("- filename_queue: {files: t.csv, epochs: 1}\n- csv_reader: {chunk_bytes: 3}\n"
                "- decode_csv: {fields: {c: {columns: 0, type: ",
                type, "}, y: {columns: 1}}}\n", ops, "- batch: {batch_size: 10, allow_smaller_final_batch: true}\n")};
  }
  MemoryFiles files_;
};

TEST_F(OneHotTest, SetsTheColumnOfTheClass) {
  for (const char* type : {"int32", "int64", "uint8"}) {
    EXPECT_EQ(graph(type, "- one_hot: {field: c, classes: 3, as: hot}\n").check(),
              (Lines{"t.csv:1 c=0 y=5 hot=1,0,0", "t.csv:2 c=2 y=6 hot=0,0,1", "t.csv:3 c=1 y=7 hot=0,1,0"}));
  }
}

TEST_F(OneHotTest, AClassOutsideIsAnErrorOfItsRow) {
  const std::string two = "- one_hot: {field: c, classes: 2, as: hot}\n";
  EXPECT_EQ(graph("int32", two).check(),
            Lines{"error t.csv:2: the field c holds 2, expected a class from 0 to 1; if classes begin at 1, put map: "
                  "{offset: -1} before"});
  EXPECT_EQ(graph("uint8", two).check(), graph("int32", two).check());
  files_.files["t.csv"] = "-1,5\n";
  EXPECT_EQ(graph("int64", two).check(), Lines{"error t.csv:1: the field c holds -1, expected a class from 0 to 1"});
}

TEST_F(OneHotTest, RefusesFieldsThatAreNoClasses) {
  const auto refused = [&](const std::string& options) {
    return error_of([&] { graph("int32", cat("- one_hot: {", options, "}\n")).graph(); });
  };
  EXPECT_EQ(refused("field: y, classes: 2, as: hot"),
            "input.yaml:4:3: [3]: one_hot takes int32, int64 and uint8 fields, y is float32; decode it so: {y: "
            "{columns: .., type: int32}}");
  EXPECT_NE(refused("field: c, classes: 2, as: y").find("there is a field \"y\" already"), std::string::npos);
}

}  // namespace
}  // namespace millrace
