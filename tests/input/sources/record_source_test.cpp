#include "millrace/input/source.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "millrace/input/catalog.h"
#include "millrace/input/graph/pipeline.h"
#include "millrace/trainer/files/yaml.h"
#include "tests/input/graph_check.h"
#include "tests/support/temp_folder.h"

namespace millrace {
namespace {

using testing_support::error_of;
using testing_support::Lines;
using testing_support::row_text;

// Records of two bytes behind a header of three: a number and its check, which is twice the number.
class Checked final : public RecordSource {
 public:
  struct Options {
    int64_t header_bytes = 3, chunk_bytes = 5;
    void declare(OptionReader& o) {
      o.optional("header_bytes", header_bytes, {.min = 0}, "bytes before the first record");
      o.optional("chunk_bytes", chunk_bytes, "bytes that a task reads");
      o.only_speed("chunk_bytes");
    }
  };
  static constexpr std::string_view kDoc = "reads numbers with their checks";

  explicit Checked(const Options& options)
      : RecordSource({.rows = {{{"x", DType::f32, Shape{1}}}},
                      .record_bytes = 2,
                      .header_bytes = static_cast<uint64_t>(options.header_bytes),
                      .chunk_bytes = static_cast<uint64_t>(options.chunk_bytes)}) {}

  void decode(const std::byte* record, RowBlock& rows, int64_t row) const override {
    const int number = static_cast<int>(record[0]), twice = static_cast<int>(record[1]);
    if (twice != 2 * number % 256) throw DataError(cat("expected ", 2 * number % 256, ", got ", twice));
    *rows.row<float>(0, row) = static_cast<float>(number);
  }
};

std::string records(int first, int count) {
  std::string out = "abc";
  for (int i = first; i < first + count; ++i) {
    out += static_cast<char>(i);
    out += static_cast<char>(2 * i);
  }
  return out;
}

InputGraph graph(const TempFolder& folder, const std::string& reader, const std::string& batch,
                 const std::string& epochs = "1") {
  OpRegistry ops = builtin_ops();
  ops.add<Checked>("checked");
  const std::string list = cat("- filename_queue: {files: \"", folder.path(), "*.bin\", epochs: ", epochs, "}\n- ",
                               reader, "\n- ", batch, "\n");
  return InputGraph::build(parse_yaml(list, "input.yaml"), ops, {.seed = 23});
}

// "file:record x=1" of each row.
Lines rest_of(Pipeline& pipeline, const TempFolder& folder, int most = 1000) {
  Lines lines;
  RowBlock slot = pipeline.make_slot();
  for (int batch = 0; batch < most && pipeline.next(slot) > 0; ++batch) {
    for (int64_t row = 0; row < slot.size(); ++row) {
      lines.push_back(
          cat(pipeline.place(slot.id(row)).text().substr(std::string(folder.path()).size()), ' ', row_text(slot, row)));
    }
  }
  return lines;
}

const std::string kBatch = "batch: {batch_size: 2, allow_smaller_final_batch: true}";

TEST(RecordSource, GivesEveryRecordWithItsPlace) {
  const TempFolder folder;
  folder.write("a.bin", records(0, 3));
  folder.write("b.bin", records(9, 0));
  folder.write("c.bin", records(7, 2));
  for (const char* reader : {"checked", "checked: {chunk_bytes: 1}", "checked: {chunk_bytes: 1000}"}) {
    Pipeline pipeline(graph(folder, reader, kBatch), {});
    EXPECT_EQ(rest_of(pipeline, folder),
              (Lines{"a.bin:1 x=0", "a.bin:2 x=1", "a.bin:3 x=2", "c.bin:1 x=7", "c.bin:2 x=8"}));
  }
}

TEST(RecordSource, KnowsHowMuchOfFilesWithHeadersHasPassed) {
  const TempFolder folder;
  folder.write("a.bin", records(0, 3));
  folder.write("b.bin", records(7, 3));
  Pipeline pipeline(graph(folder, "checked", "batch: {batch_size: 1}"), {});
  RowBlock slot = pipeline.make_slot();
  std::vector<double> shares;
  while (pipeline.next(slot) > 0) shares.push_back(pipeline.share().value_or(-1) * 18);
  ASSERT_EQ(shares.size(), 6u);
  for (const auto& [row, bytes] : {std::pair(0, 5), {1, 7}, {2, 9}, {3, 14}, {4, 16}, {5, 18}}) {
    EXPECT_NEAR(shares[static_cast<size_t>(row)], bytes, 1e-9) << "row " << row;
  }
}

TEST(RecordSource, GoesOnFromEveryState) {
  const TempFolder folder;
  folder.write("a.bin", records(0, 50));
  folder.write("b.bin", records(50, 40));
  const std::string shuffle = "shuffle_batch: {batch_size: 7, min_after_dequeue: 20, allow_smaller_final_batch: true}";
  Pipeline whole(graph(folder, "checked", shuffle, "2"), {});
  const Lines expected = rest_of(whole, folder);
  ASSERT_EQ(expected.size(), 180u);
  for (const int batches : {1, 8, 13}) {
    Executor executor(3);
    Pipeline pipeline(graph(folder, "checked", shuffle, "2"), {.executor = &executor});
    Lines lines = rest_of(pipeline, folder, batches);
    Pipeline other(graph(folder, "checked: {chunk_bytes: 40}", shuffle, "2"), {});
    other.restore(State::decode(pipeline.save().encode()));
    for (std::string& line : rest_of(other, folder)) lines.push_back(std::move(line));
    EXPECT_EQ(lines, expected) << "from batch " << batches << " on";
  }
}

TEST(RecordSource, AWrongRecordIsAnErrorAtItsPlaceWhenItIsUsed) {
  const TempFolder folder;
  std::string bytes = records(0, 6);
  bytes[3 + 2 * 4 + 1] = 77;
  folder.write("a.bin", bytes);
  Pipeline pipeline(graph(folder, "checked: {chunk_bytes: 1000}", kBatch), {});
  RowBlock slot = pipeline.make_slot();
  EXPECT_EQ(pipeline.next(slot), 2);
  EXPECT_EQ(pipeline.next(slot), 2);
  EXPECT_EQ(error_of([&] { static_cast<void>(pipeline.next(slot)); }),
            cat(folder.path(), "a.bin:5: expected 8, got 77"));
}

TEST(RecordSource, RefusesFilesThatAreNoWholeRecords) {
  const TempFolder folder;
  const std::string path = folder.write("a.bin", records(0, 3) + "x");
  EXPECT_EQ(
      error_of([&] { graph(folder, "checked", kBatch); }),
      cat(path,
          ":4: expected a header of 3 bytes and records of 2 bytes, got a file of 10 bytes: 3 records and 1 of the 2 "
          "bytes of another"));
  folder.write("a.bin", "ab");
  EXPECT_EQ(error_of([&] { graph(folder, "checked", kBatch); }),
            cat(path, ": expected a header of 3 bytes and records of 2 bytes, got a file of 2 bytes"));
  folder.write("a.bin", "abc");
  EXPECT_EQ(
      error_of([&] { graph(folder, "checked: {header_bytes: 0}", kBatch); }),
      cat(path, ":2: expected records of 2 bytes, got a file of 3 bytes: 1 record and 1 of the 2 bytes of another"));
}

// Also one that has whole records by chance.
TEST(RecordSource, RefusesCompressedFiles) {
  const TempFolder folder;
  for (const auto& [start, name] : {std::pair("\x1f\x8b\b", "gzip"), std::pair("\x28\xb5\x2f\xfd", "zstd")}) {
    for (const size_t bytes : {9u, 10u}) {
      const std::string path = folder.write("a.bin", start + std::string(bytes - std::strlen(start), '\0'));
      EXPECT_EQ(error_of([&] { graph(folder, "checked", kBatch); }),
                cat(path, ": records cannot be read from a compressed file; the file is compressed by ", name,
                    ": unpack it first: ", name, " -d FILE"));
    }
  }
}

class OfLength final : public RecordSource {
 public:
  explicit OfLength(uint64_t bytes) : RecordSource({.rows = {{{"x", DType::f32, Shape{1}}}}, .record_bytes = bytes}) {}

  void decode(const std::byte*, RowBlock&, int64_t) const override {}
};

TEST(RecordSource, RefusesLengthsThatTheIdOfARowCannotHold) {
  EXPECT_EQ(error_of([] { OfLength source(0); }), "expected records of 1 to 4294967295 bytes, got 0");
  EXPECT_EQ(error_of([] { OfLength source(uint64_t{1} << 32); }),
            "expected records of 1 to 4294967295 bytes, got 4294967296");
  EXPECT_NO_THROW(OfLength source(4294967295));
}

}  // namespace
}  // namespace millrace
