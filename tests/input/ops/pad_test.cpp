#include "tests/input/graph_check.h"

namespace millrace {
namespace {

using testing_support::error_of;
using testing_support::GraphCheck;
using testing_support::Lines;
using testing_support::MemoryFiles;

class PadTest : public ::testing::Test {
 protected:
  PadTest() { files_.files["t.csv"] = "1,2 3,a\n2,4,b c\n3,5 6 7,\n4,,d\n5,8,e\n"; }
  // Batches of two.
  GraphCheck graph(const std::string& before, const std::string& behind, const std::string& type = "int32") {
    return {files_, cat("- filename_queue: {files: t.csv, epochs: 1}\n- csv_reader: {chunk_bytes: 3}\n"
                        "- decode_csv: {fields: {y: {columns: 0}, n: {columns: 1, split: ' ', default: [], type: ",
                        type, "}, t: {columns: 2, split: ' ', default: [], type: string}}}\n", before,
                        "- batch: {batch_size: 2, allow_smaller_final_batch: true}\n", behind)};
  }
  MemoryFiles files_;
};

TEST_F(PadTest, FillsUpToTheLongestOfTheBatch) {
  for (const char* type : {"int32", "int64", "float32", "float64", "uint8"}) {
    EXPECT_EQ(graph("", "- pad\n", type).check(),
              (Lines{"t.csv:1 y=1 n=2,3 t=\"a\",\"\"", "t.csv:2 y=2 n=4,0 t=\"b\",\"c\"", "--",
                     "t.csv:3 y=3 n=5,6,7 t=\"\"", "t.csv:4 y=4 n=0,0,0 t=\"d\"", "--", "t.csv:5 y=5 n=8 t=\"e\""}));
  }
}

TEST_F(PadTest, RoundsUpToAMultiple) {
  EXPECT_EQ(graph("", "- pad: {fields: n, multiple_of: 2}\n").check(),
            (Lines{"t.csv:1 y=1 n=2,3 t=\"a\"", "t.csv:2 y=2 n=4,0 t=\"b\",\"c\"", "--",
                   "t.csv:3 y=3 n=5,6,7,0 t=", "t.csv:4 y=4 n=0,0,0,0 t=\"d\"", "--", "t.csv:5 y=5 n=8,0 t=\"e\""}));
}

TEST_F(PadTest, MakesAFieldOfOneLength) {
  const GraphCheck padded = graph("", "- pad: {length: 3}\n");
  EXPECT_EQ(padded.graph().output().rows.text(), "y: float32 (1), n: int32 (3), t: string (3)");
  EXPECT_EQ(padded.check(),
            (Lines{"t.csv:1 y=1 n=2,3,0 t=\"a\",\"\",\"\"", "t.csv:2 y=2 n=4,0,0 t=\"b\",\"c\",\"\"", "--",
                   "t.csv:3 y=3 n=5,6,7 t=\"\",\"\",\"\"", "t.csv:4 y=4 n=0,0,0 t=\"d\",\"\",\"\"", "--",
                   "t.csv:5 y=5 n=8,0,0 t=\"e\",\"\",\"\""}));
  EXPECT_EQ(graph("- pad: {length: 3}\n", "").check(), padded.check());
}

TEST_F(PadTest, ARowThatIsTooLongIsAnError) {
  EXPECT_EQ(graph("- pad: {fields: [n], length: 2}\n", "").check(),
            (Lines{"t.csv:1 y=1 n=2,3 t=\"a\"", "t.csv:2 y=2 n=4,0 t=\"b\",\"c\"",
                   "error t.csv:3: the field n has 3 values, more than pad's length 2"}));
}

TEST_F(PadTest, RefusesWhatItCannotDo) {
  const auto refused = [&](const std::string& before, const std::string& behind) {
    return error_of([&] { graph(before, behind).graph(); });
  };
  EXPECT_EQ(refused("- pad\n", ""),
            "input.yaml:4:3: [3]: pad fills up to the longest row of a batch, but stands before the op that makes "
            "batches; put it after batch or shuffle_batch, or set a length");
  EXPECT_EQ(refused("", "- pad: {fields: y}\n"),
            "input.yaml:5:3: [4]: pad fills up ragged fields, y is float32 (1); decode_csv makes a field ragged if the "
            "field has a split");
  EXPECT_NE(refused("- pad: {length: 3}\n", "- pad\n").find("there is no ragged field to fill up in y: float32 (1)"),
            std::string::npos);
  EXPECT_NE(refused("", "- pad: {fields: []}\n").find("fields is an empty list"), std::string::npos);
  EXPECT_NE(refused("", "- pad: {fields: [n, n]}\n").find("the field \"n\" is named twice"), std::string::npos);
  EXPECT_NE(refused("", "- pad: {length: 3, multiple_of: 2}\n").find("multiple_of has no effect with a length"),
            std::string::npos);
}

// Every op that moves or changes rows, with fields whose size varies.
TEST_F(PadTest, FieldsWhoseSizeVariesPassEveryOp) {
  const Lines rows = {"t.csv:1 y=1 n=2,3 t=\"a\"", "t.csv:2 y=2 n=4 t=\"b\",\"c\"", "--",
                      "t.csv:3 y=3 n=5,6,7 t=",    "t.csv:4 y=4 n= t=\"d\"",        "--",
                      "t.csv:5 y=5 n=8 t=\"e\""};
  EXPECT_EQ(graph("", "").check(), rows);
  EXPECT_EQ(graph("- queue\n- print\n- cache\n", "").check(), rows);
  EXPECT_EQ(graph("- cache\n- repeat: {epochs: 2}\n- skip: {rows: 5}\n", "").check(), rows);
  EXPECT_EQ(graph("- filter: {field: y, op: '>', value: 3}\n", "").check(), (Lines{rows[4], rows[6]}));
  EXPECT_EQ(graph("- map: {field: n, scale: 10, as: m}\n- take: {rows: 2}\n", "").check(),
            (Lines{rows[0] + " m=20,30", rows[1] + " m=40"}));
  EXPECT_EQ(graph("- map: {field: n, offset: 1}\n- take: {rows: 1}\n", "").check(), Lines{"t.csv:1 y=1 n=3,4 t=\"a\""});
  EXPECT_EQ(graph("- take: {rows: 1}\n", "- map: {field: y, as: z}\n").check(), Lines{rows[0] + " z=1"});
}

TEST_F(PadTest, ARowBlockThatGrowsKeepsThem) {
  files_.files["t.csv"].clear();
  Lines expected;
  for (int i = 0; i < 300; ++i) {
    const std::string text(static_cast<size_t>(1 + i % 40), 'x');
    files_.files["t.csv"] += cat("0,", i, ",", text, "\n");
    expected.push_back(cat("t.csv:", i + 1, " y=0 n=", i, " t=\"", text, "\""));
    if (i % 2 == 1) expected.emplace_back("--");
  }
  expected.pop_back();
  GraphCheck whole(files_,
                   "- filename_queue: {files: t.csv, epochs: 1}\n- csv_reader\n- decode_csv: {fields: {y: "
                   "{columns: 0}, n: {columns: 1, split: ' ', type: int32}, t: {columns: 2, type: string}}}\n"
                   "- batch: {batch_size: 2}\n");
  EXPECT_EQ(whole.run(), expected);
}

}  // namespace
}  // namespace millrace
