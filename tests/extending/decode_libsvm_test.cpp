// The text op of examples/custom_input_op keeps what the graph promises of every transform behind csv_reader.
#include "examples/custom_input_op/decode_libsvm.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "millrace/core/threads/executor.h"
#include "millrace/input/catalog.h"
#include "millrace/input/graph/pipeline.h"
#include "millrace/trainer/files/yaml.h"
#include "tests/support/temp_folder.h"

namespace millrace {
namespace {

class DecodeLibsvmTest : public ::testing::Test {
 protected:
  DecodeLibsvmTest() { ops_.add<DecodeLibsvm>("decode_libsvm"); }

  // Three values, of which line i names as many as it likes; blank lines and both line ends between them.
  void write_lines() {
    std::string text;
    for (int i = 0; i < 300; ++i) {
      text += cat(i % 2 == 0 ? "+1" : "-1");
      if (i % 3 > 0) text += cat(" 1:", i);
      if (i % 3 > 1) text += cat("  3:-", i, "e-1");
      text += i % 7 == 0 ? "\r\n" : i % 11 == 0 ? "\n\n" : "\n";
    }
    folder_.write("0.svm", text);
    folder_.write("1.svm", "");
    folder_.write("2.svm", "2 2:0.5\n\n3");
  }

  InputGraph graph(const std::string& reader = "", const std::string& options = "",
                   const std::string& batches = "batch: {batch_size: 9") const {
    return InputGraph::build(
        parse_yaml(cat("[{filename_queue: {files: \"", folder_.path("*.svm"), "\", epochs: 2, shuffle: false}}, ",
                       "{csv_reader: {quote: none, ", reader, "}}, {decode_libsvm: {features: 3, ", options, "}}, {",
                       batches, ", allow_smaller_final_batch: true}}]"),
                   "c.yaml"),
        ops_, {.seed = 5});
  }

  // The places and values of the next `batches`.
  static std::vector<std::string> read(Pipeline& pipeline, int batches = -1) {
    std::vector<std::string> out;
    RowBlock batch = pipeline.make_slot();
    for (int i = 0; i != batches && pipeline.next(batch) > 0; ++i) {
      for (int64_t row = 0; row < batch.size(); ++row) {
        const float *x = batch.row<float>(0, row), *label = batch.row<float>(1, row);
        out.push_back(cat(pipeline.place(batch.id(row)).text(), ": ", *label, ": ", x[0], ' ', x[1], ' ', x[2]));
      }
    }
    return out;
  }

  std::string error_of(const std::string& text, const std::string& reader = "") {
    folder_.write("0.svm", text);
    Pipeline pipeline(graph(reader), {});
    try {
      read(pipeline);
    } catch (const DataError& error) {
      return cat(error.place().text().substr(folder_.path().size()), ": ", error.message());
    }
    return "no error";
  }

  OpRegistry ops_ = builtin_ops();
  const TempFolder folder_;
};

TEST_F(DecodeLibsvmTest, ReadsEveryLineOnceAnEpoch) {
  write_lines();
  Pipeline pipeline(graph(), {});
  const std::vector<std::string> rows = read(pipeline);
  ASSERT_EQ(rows.size(), 604u);
  EXPECT_EQ(rows[0], cat(folder_.path("0.svm"), ":1: 1: 0 0 0"));
  EXPECT_EQ(rows[1], cat(folder_.path("0.svm"), ":2: -1: 1 0 0"));
  EXPECT_EQ(rows[14], cat(folder_.path("0.svm"), ":16: 1: 14 0 -1.4"));  // behind a blank line
  EXPECT_EQ(rows[300], cat(folder_.path("2.svm"), ":1: 2: 0 0.5 0"));
  EXPECT_EQ(rows[301], cat(folder_.path("2.svm"), ":3: 3: 0 0 0"));
  EXPECT_EQ(std::vector<std::string>(rows.begin() + 302, rows.end()),
            std::vector<std::string>(rows.begin(), rows.begin() + 302));
}

TEST_F(DecodeLibsvmTest, ChunksThreadsAndSavingChangeNothing) {
  write_lines();
  const std::string window = "shuffle_batch: {batch_size: 9, min_after_dequeue: 40";
  Executor executor(3);
  for (const char* readers : {"readers: 1", "readers: 2"}) {
    Pipeline whole(graph(readers, "", window), {});
    const std::vector<std::string> rows = read(whole);
    for (const char* chunk_bytes : {"1", "13", "600"}) {
      Pipeline first(graph(cat(readers, ", chunk_bytes: ", chunk_bytes), "", window), {.executor = &executor});
      std::vector<std::string> got = read(first, 31);
      Pipeline second(graph(readers, "", window), {});
      second.restore(first.save());
      for (std::string& row : read(second)) got.push_back(std::move(row));
      EXPECT_EQ(got, rows) << readers << ", " << chunk_bytes;
    }
  }
}

TEST_F(DecodeLibsvmTest, SaysWhatIsWrongWhere) {
  EXPECT_EQ(error_of("1 1:2\n\nyes 1:2\n"), "0.svm:3:1: expected a number as label, got \"yes\"");
  EXPECT_EQ(error_of("1 1:2 x:3 2:1\n"), "0.svm:1:7: expected index:value, got \"x:3\"");
  EXPECT_EQ(error_of("1 1:2 3\n"), "0.svm:1:7: expected index:value, got \"3\"");
  EXPECT_EQ(error_of("1 1:2 3:\r\n"), "0.svm:1:7: expected index:value, got \"3:\"");
  EXPECT_EQ(error_of("1 1:2x\n"), "0.svm:1:3: expected index:value, got \"1:2x\"");
  for (const char* label : {"+-1", "nan", "1+1:2", "1e99"}) {
    EXPECT_EQ(error_of(cat("  ", label, " 2:1\n")), cat("0.svm:1:3: expected a number as label, got \"", label, "\""));
  }
  EXPECT_EQ(error_of("1 1:+-2\n"), "0.svm:1:3: expected index:value, got \"1:+-2\"");
  EXPECT_EQ(error_of("1 4:3\n"), "0.svm:1:3: expected an index from 1 to 3, got \"4:3\"");
  EXPECT_EQ(error_of("1 2:2 2:3\n"), "0.svm:1:7: expected an index above 2, got \"2:3\"");
  EXPECT_EQ(error_of("1 1:1\n" + std::string(20 << 20, ' ')), "0.svm:2:1: the line is longer than 16777216 bytes");
}

// Lines count from the first of the file, also where the reader passed some, and where ranges begin within lines.
TEST_F(DecodeLibsvmTest, KnowsTheLineInEveryRange) {
  const std::string text = "a header\nand another\n1 1:1\n1 1:1\n1 1:1\n1 1:x\n";
  for (const char* chunk_bytes : {"1", "7", "1000"}) {
    EXPECT_EQ(error_of(text, cat("skip_lines: 2, chunk_bytes: ", chunk_bytes)),
              "0.svm:6:3: expected index:value, got \"1:x\"");
  }
}

TEST_F(DecodeLibsvmTest, LeavesOutWhatIsWrong) {
  folder_.write("0.svm", "1 1:1\nbad\n2 2:2\n3 4:4\n");
  for (const char* chunk_bytes : {"1", "1000"}) {
    std::vector<std::string> bad;
    Pipeline pipeline(
        graph(cat("chunk_bytes: ", chunk_bytes), "on_bad_row: skip"),
        {.on_bad_row = [&](const BadRow& row) { bad.push_back(cat(row.place.text(), ": ", row.reason)); }});
    EXPECT_EQ(read(pipeline).size(), 4u);
    EXPECT_EQ(pipeline.summary().bad_rows, 4u);
    ASSERT_EQ(bad.size(), 4u);
    EXPECT_EQ(bad[1], cat(folder_.path("0.svm"), ":4:3: expected an index from 1 to 3, got \"4:4\""));
  }
}

}  // namespace
}  // namespace millrace
