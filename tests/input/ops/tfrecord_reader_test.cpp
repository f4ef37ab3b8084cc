#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "millrace/core/random.h"
#include "tests/input/compressed/compressing.h"
#include "tests/input/graph_check.h"
#include "tests/input/tfrecord/tfrecords.h"

namespace millrace {
namespace {

using testing_support::bytes_feature;
using testing_support::error_of;
using testing_support::example_of;
using testing_support::GraphCheck;
using testing_support::integers_feature;
using testing_support::Lines;
using testing_support::MemoryFiles;
using testing_support::record_of;

class TfRecordReaderTest : public ::testing::Test {
 protected:
  GraphCheck graph(const std::string& options = {}, const std::string& batch = "batch_size: 1") {
    return {files_, cat("- filename_queue: {files: \"?.tfrecord\", shuffle: false, epochs: 1}\n- tfrecord_reader: {",
                        options, "}\n- decode_example: {fields: {n: {type: int32}}}\n- batch: {", batch, "}\n")};
  }
  // Of one field, and something besides.
  static std::string record(int n, const std::string& besides) {
    return record_of(example_of({{"n", integers_feature({n})}, {"besides", bytes_feature({besides})}}));
  }
  // Records whose bytes look like others, in many ways.
  static std::string records(int count, Lines& expected, const std::string& path = "a.tfrecord") {
    std::string out;
    for (int i = 0; i < count; ++i) {
      const uint64_t draw = philox64(3, 0, static_cast<uint64_t>(i));
      std::string besides(draw % 300, static_cast<char>(i));
      if (i % 5 == 1) besides += record(-1, "inside") + record(-2, "inside");
      if (i % 5 == 2) besides = record(-3, std::string(draw % 1000, '\0'));
      if (i % 5 == 3) besides += record(-4, "cut").substr(0, 14);
      out += record(i, besides);
      if (!expected.empty()) expected.emplace_back("--");
      expected.push_back(cat(path, ':', i + 1, " n=", i));
    }
    return out;
  }

  MemoryFiles files_;
};

TEST_F(TfRecordReaderTest, GivesTheSameRowsForEverySizeOfAChunk) {
  Lines expected;
  files_.files["a.tfrecord"] = records(12, expected);
  files_.files["b.tfrecord"] = "";
  files_.files["c.tfrecord"] = records(3, expected, "c.tfrecord");
  for (const char* chunk : {"50", "1000", "262144"}) {
    EXPECT_EQ(graph(cat("chunk_bytes: ", chunk)).check(), expected) << chunk;
  }
  Executor executor(3);
  EXPECT_EQ(graph("chunk_bytes: 1").run(&executor), expected);
}

#ifdef MILLRACE_TESTS_COMPRESSED
TEST_F(TfRecordReaderTest, ReadsCompressedFiles) {
  Lines expected;
  const std::string bytes = records(12, expected);
  const size_t half = bytes.size() / 2;
  for (const std::string& file :
       {testing_support::gzip_of(bytes),
        testing_support::gzip_of(bytes.substr(0, half)) + testing_support::gzip_of(bytes.substr(half)),
        testing_support::bgzf_of(bytes, 200), testing_support::zstd_of(bytes)}) {
    files_.files["a.tfrecord"] = file;
    for (const char* chunk : {"100", "262144"})
      EXPECT_EQ(graph(cat("chunk_bytes: ", chunk)).check(), expected) << chunk;
  }
  const std::string file = testing_support::gzip_of(bytes);
  files_.files["a.tfrecord"] = file.substr(0, file.size() - 20);
  EXPECT_NE(graph().run().back().find("error a.tfrecord: the compressed data end too early"), std::string::npos);
}
#endif

TEST_F(TfRecordReaderTest, ReadsAPipe) {
  Lines expected;
  const std::string bytes = records(40, expected, "-");
  const std::string list =
      "- filename_queue: {files: \"-\"}\n- tfrecord_reader: {chunk_bytes: 100}\n- decode_example: {fields: {n: {type: "
      "int32}}}\n- batch: {batch_size: 1}\n";
  for (const size_t piece : {7u, 1000u, 100000u}) {
    std::vector<std::string>& pieces = files_.streams["-"];
    pieces.clear();
    for (size_t at = 0; at < bytes.size(); at += piece) pieces.push_back(bytes.substr(at, piece));
    EXPECT_EQ(GraphCheck(files_, list).run(), expected) << piece;
    Executor executor(3);
    EXPECT_EQ(GraphCheck(files_, list).run(&executor), expected) << piece;
  }
}

TEST_F(TfRecordReaderTest, AnErrorComesAfterTheRowsBeforeIt) {
  Lines expected;
  const std::string bytes = records(6, expected);
  const std::string last = record(5, "");
  std::string damaged = bytes;
  damaged[bytes.size() - 20] = static_cast<char>(damaged[bytes.size() - 20] ^ 1);
  expected.back() = "error a.tfrecord:6: the checksum of the record is wrong; is the file damaged?";
  expected.erase(expected.end() - 2);
  files_.files["a.tfrecord"] = damaged;
  for (const char* chunk : {"17", "262144"}) EXPECT_EQ(graph(cat("chunk_bytes: ", chunk)).check(), expected);

  files_.files["a.tfrecord"] = bytes.substr(0, bytes.size() - 1);
  const std::string error = graph("chunk_bytes: 100").check().back();
  EXPECT_TRUE(error.starts_with("error a.tfrecord:6: the file ends within a record: ")) << error;
}

TEST_F(TfRecordReaderTest, LimitsTheBytesOfARecord) {
  files_.files["a.tfrecord"] = record(1, "") + record(2, std::string(1000, 'x'));
  EXPECT_EQ(graph("max_record_bytes: 2000").run().size(), 3u);
  const std::string error = graph("max_record_bytes: 1000").run().back();
  EXPECT_TRUE(error.starts_with("error a.tfrecord:2: the record has 10")) << error;
  EXPECT_TRUE(error.ends_with(" bytes, at most 1000 are allowed; set tfrecord_reader: {max_record_bytes: 1036}"))
      << error;
}

TEST_F(TfRecordReaderTest, OtherFilesAreAnErrorBeforeTheFirstRow) {
  files_.files["a.tfrecord"] = "1,2\n3,4\n5,6\n7,8\n";
  const auto build_error = [&] { return error_of([&] { graph().graph(); }); };
  const std::string wrong =
      "a.tfrecord: this is not a TFRecord file: it does not begin with the length of a record and its checksum; ";
  EXPECT_EQ(build_error(), wrong + "the file looks like text: csv_reader reads CSV");
  files_.files["a.tfrecord"] = "x\x9c a stream of zlib";
  EXPECT_EQ(build_error(), wrong + "it may be compressed by ZLIB, which is not read: write it with GZIP");
  files_.files["a.tfrecord"] = std::string("\x93NUMPY\x01\0v\0{'descr': '<f4'}", 25);
  EXPECT_TRUE(
      build_error().ends_with("; the file is a NumPy array: read it by the op npy_reader: {fields: {features: "
                              "FILE}}"))
      << build_error();
  // The first file alone is looked at when the graph is built.
  files_.files["a.tfrecord"] = record(1, "");
  files_.files["b.tfrecord"] = "short";
  EXPECT_EQ(build_error(), "no error");
  EXPECT_TRUE(error_of([&] { graph().graph().check_files(); }).starts_with("b.tfrecord: this is not a TFRecord file"));
  EXPECT_TRUE(graph().run().back().starts_with("error b.tfrecord: this is not a TFRecord file"));
}

// The rows that a chunk may have follow the bytes that a row takes.
TEST_F(TfRecordReaderTest, LargeRowsAreFewInAChunk) {
  files_.files["a.tfrecord"] = record(1, std::string(300000, 'x'));
  const auto bound = [&](const std::string& field) {
    return GraphCheck(files_, cat("- filename_queue: {files: a.tfrecord, epochs: 1}\n- tfrecord_reader\n",
                                  "- decode_example: {fields: {image: {type: uint8, size: 150000", field,
                                  "}}}\n- batch: {batch_size: 1}\n"))
        .graph()
        .memory_bound(1);
  };
  EXPECT_LT(bound(""), uint64_t{20} << 20);
  EXPECT_GT(bound(", default: 0"), uint64_t{2} << 30) << "the smallest record would be a row";
}

}  // namespace
}  // namespace millrace
