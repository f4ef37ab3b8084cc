#include "tests/input/graph_check.h"

namespace millrace {
namespace {

using testing_support::add_counting_files;
using testing_support::GraphCheck;
using testing_support::Lines;
using testing_support::MemoryFiles;
using testing_support::reading;

class PrintTest : public ::testing::Test {
 protected:
  PrintTest() { add_counting_files(files_, 5, 0); }
  GraphCheck graph(const std::string& ops) {
    return {files_, reading("a.csv") + ops + "- batch: {batch_size: 2, allow_smaller_final_batch: true}\n"};
  }
  // What is printed on the way, and "--" behind every batch.
  static Lines printed(const GraphCheck& check, Executor* executor = nullptr) {
    Lines lines;
    PipelineOptions options;
    options.executor = executor;
    options.on_print = [&](std::string_view text) { lines.emplace_back(text); };
    Pipeline pipeline(check.graph(), options);
    RowBlock slot = pipeline.make_slot();
    while (pipeline.next(slot) > 0) lines.emplace_back("--");
    return lines;
  }
  MemoryFiles files_;
};

TEST_F(PrintTest, WritesALineForEveryNthRow) {
  const GraphCheck check = graph("- print: {every: 2}\n");
  const Lines expected = {"print: row 1, a.csv:1: x=1 y=0.5", "--", "print: row 3, a.csv:3: x=3 y=1.5", "--",
                          "print: row 5, a.csv:5: x=5 y=2.5", "--"};
  EXPECT_EQ(printed(check), expected);
  Executor executor(3);
  EXPECT_EQ(printed(check, &executor), expected);
  EXPECT_EQ(check.check().size(), 5u + 2u) << "the rows are as they were";
}

TEST_F(PrintTest, WritesBytesAsNumbers) {
  files_.files["a.csv"] = "0,65\n7,255\n";
  const GraphCheck check = {files_,
                            "- filename_queue: {files: a.csv, epochs: 1}\n- csv_reader\n- decode_csv: {fields: {x: "
                            "{columns: 0-1, type: uint8}}}\n- print\n- batch: {batch_size: 2}\n"};
  EXPECT_EQ(printed(check), (Lines{"print: row 1, a.csv:1: x=0,65", "print: row 2, a.csv:2: x=7,255", "--"}));
}

TEST_F(PrintTest, CountsOnInFurtherRuns) {
  EXPECT_EQ(printed(graph("- print: {name: seen, every: 4}\n- repeat: {epochs: 2}\n")),
            (Lines{"seen: row 1, a.csv:1: x=1 y=0.5", "--", "--", "seen: row 5, a.csv:5: x=5 y=2.5", "--", "--",
                   "seen: row 9, a.csv:4: x=4 y=2", "--"}));
}

TEST_F(PrintTest, ShowsTheFirstValuesOfAField) {
  files_.files["w.csv"] = "1,2,3,4,5,6,7,8,9,10\n";
  const GraphCheck wide = {files_,
                           "- filename_queue: {files: w.csv, epochs: 1}\n- csv_reader\n- decode_csv: {fields: {x: "
                           "{columns: 0-9}}}\n- print\n- batch: {batch_size: 1}\n"};
  const GraphCheck texts = {files_,
                            "- filename_queue: {files: w.csv, epochs: 1}\n- csv_reader\n- decode_csv: {fields: {s: "
                            "{columns: 0-1, type: string}, l: {columns: 8, type: int32, split: \";\"}}}\n- print\n"
                            "- batch: {batch_size: 1}\n"};
  EXPECT_EQ(printed(texts), (Lines{"print: row 1, w.csv:1: s=\"1\",\"2\" l=9", "--"}));
  EXPECT_EQ(printed(wide), (Lines{"print: row 1, w.csv:1: x=1,2,3,4,5,6,7,8,.. (10)", "--"}));
}

TEST_F(PrintTest, LinesOfSeveralOpsComeRowByRow) {
  files_.files["b.csv"] = "1\nx\n3\n4\n";
  for (const char* chunk_bytes : {"1", "5", "1000"}) {
    const GraphCheck check = {
        files_, cat("- filename_queue: {files: b.csv, epochs: 1}\n- csv_reader: {chunk_bytes: ", chunk_bytes,
                    "}\n- decode_csv: {fields: {x: {columns: 0}}, on_bad_row: skip}\n"
                    "- print: {name: all}\n- print: {name: some, every: 2}\n- batch: {batch_size: 3}\n")};
    Lines lines;
    PipelineOptions options;
    options.on_print = [&](std::string_view text) { lines.emplace_back(text); };
    options.on_bad_row = [&](const BadRow& bad) { lines.push_back(bad.place.text()); };
    Pipeline pipeline(check.graph(), options);
    RowBlock slot = pipeline.make_slot();
    EXPECT_EQ(pipeline.next(slot), 3);
    EXPECT_EQ(lines, (Lines{"all: row 1, b.csv:1: x=1", "some: row 1, b.csv:1: x=1", "b.csv:2:1",
                            "all: row 2, b.csv:3: x=3", "all: row 3, b.csv:4: x=4", "some: row 3, b.csv:4: x=4"}))
        << chunk_bytes;
  }
}

}  // namespace
}  // namespace millrace
