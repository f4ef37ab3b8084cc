#include "millrace/input/parquet/footer.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/input/op_testing.h"
#include "tests/input/parquet/parquet_bytes.h"

namespace millrace {
namespace {

using testing_support::bytes_of_numbers;
using testing_support::BytesFile;
using testing_support::ChunkParts;
using testing_support::error_of;
using testing_support::FileParts;
using testing_support::kDouble;
using testing_support::kFloat;
using testing_support::kInt32;
using testing_support::number_bytes;
using testing_support::plain_chunk;
using testing_support::Thrift;

// Two columns, of float32 and int32, in row groups of so many rows.
FileParts two_columns(const std::vector<int>& rows) {
  FileParts out{.schema = {{.name = "a", .type = kFloat}, {.name = "b", .type = kInt32}}};
  for (const int count : rows) {
    const std::vector<float> a(static_cast<size_t>(count), 0.5F);
    const std::vector<int32_t> b(static_cast<size_t>(count), 7);
    out.groups.push_back({.rows = count, .chunks = {plain_chunk(kFloat, a), plain_chunk(kInt32, b)}});
  }
  return out;
}

std::vector<RowGroup> groups_of(const std::string& bytes, const std::vector<size_t>& chosen = {0, 1},
                                bool with_bounds = false) {
  const BytesFile file(bytes);
  const ParquetFooter footer(file, file.size());
  std::vector<const ParquetColumn*> columns;
  for (const size_t i : chosen) columns.push_back(&footer.columns()[i]);
  return footer.row_groups(columns, with_bounds);
}

std::string error_in(const std::string& bytes) {
  return error_of([&] { groups_of(bytes); });
}

TEST(ParquetFooter, SaysWhereTheChunksOfColumnsLie) {
  const FileParts parts = two_columns({3, 0, 5});
  const std::vector<RowGroup> groups = groups_of(parts.bytes(), {1, 0, 1});
  ASSERT_EQ(groups.size(), 3u);
  EXPECT_EQ(groups[2].first_row, 3u);
  EXPECT_EQ(groups[2].rows, 5u);
  ASSERT_EQ(groups[2].chunks.size(), 3u);
  EXPECT_EQ(groups[0].chunks[1].begin, 4u);
  EXPECT_EQ(groups[0].chunks[0].begin, 4 + parts.groups[0].chunks[0].pages.size());
  EXPECT_EQ(groups[0].chunks[2].begin, groups[0].chunks[0].begin);
  EXPECT_EQ(groups[2].chunks[0].values, 5u);
  EXPECT_EQ(groups[2].chunks[0].bounds, nullptr);
}

TEST(ParquetFooter, TrustsOldBoundsOnlyWhereTheyMeanSomething) {
  FileParts parts = two_columns({2});
  const std::string low = bytes_of_numbers<int32_t>({-3}), high = bytes_of_numbers<int32_t>({9});
  const auto bounds = [&](const Thrift& statistics) {
    parts.groups[0].chunks[1].statistics = statistics;
    return *groups_of(parts.bytes(), {1}, true).front().chunks.front().bounds;
  };
  ColumnBounds found = bounds(Thrift().text(1, high).text(2, low).number(3, 1));
  EXPECT_EQ(found.least, low);
  EXPECT_EQ(found.greatest, high);
  EXPECT_EQ(found.missing, 1u);
  found = bounds(Thrift().text(1, "old").text(2, "old").text(5, high).text(6, low));
  EXPECT_EQ(found.least, low);
  EXPECT_EQ(found.greatest, high);
  EXPECT_EQ(found.missing, std::nullopt);
  parts.schema[1].converted = 13;  // uint32
  EXPECT_EQ(bounds(Thrift().text(1, high).text(2, low)).least, std::nullopt);
  EXPECT_EQ(bounds(Thrift().text(5, high).text(6, low)).least, low);
}

TEST(ParquetFooter, RefusesFilesThatAreNone) {
  const std::string damaged = "the Parquet file is damaged: ", hint = "; was it copied or downloaded as a whole?";
  const std::string whole = two_columns({3}).bytes();
  EXPECT_EQ(error_in(whole), "no error");
  EXPECT_EQ(error_in("a,b\n1,2\n"), "this is no Parquet file; the file looks like text: csv_reader reads CSV");
  EXPECT_EQ(error_in("\x1f\x8b more"),
            "this is no Parquet file; the file is compressed by gzip: unpack it first: gzip -d FILE");
  EXPECT_EQ(error_in(""), "this is no Parquet file");
  EXPECT_EQ(error_in("PAR1"), damaged + "its end is missing" + hint);
  EXPECT_EQ(error_in("PAR1PAR1"), damaged + "its end is missing" + hint);
  EXPECT_EQ(error_in(whole.substr(0, whole.size() - 1)), damaged + "its end is missing" + hint);
  EXPECT_EQ(error_in("PAR1" + number_bytes(1, 4) + "PAR1"), damaged + "its metadata are longer than the file" + hint);
  EXPECT_EQ(error_in("PAR1" + number_bytes(UINT32_MAX, 4) + "PAR1"),
            damaged + "its metadata are longer than the file" + hint);
  EXPECT_EQ(error_in(cat("PAR1", '\0', number_bytes(1, 4), "PAR1")), damaged + "it has no schema" + hint);
  const std::string encrypted = "the Parquet file is encrypted; write it without encryption";
  EXPECT_EQ(error_in("PARE" + whole.substr(4)), encrypted);
  for (size_t cut = 4; cut < whole.size(); cut += 7) {
    EXPECT_EQ(error_in(whole.substr(0, cut)), damaged + "its end is missing" + hint) << cut;
  }
}

TEST(ParquetFooter, ComparesWhatItSaysWithItself) {
  const std::string damaged = "the Parquet file is damaged: ", hint = "; was it copied or downloaded as a whole?";
  FileParts parts = two_columns({3, 4});
  parts.rows = 8;
  EXPECT_EQ(error_in(parts.bytes()), damaged + "its row groups have other numbers of rows than it says" + hint);
  parts.rows = 6;
  EXPECT_EQ(error_in(parts.bytes()), damaged + "its row groups have other numbers of rows than it says" + hint);
  parts = two_columns({3});
  parts.groups[0].chunks.pop_back();
  EXPECT_EQ(error_in(parts.bytes()), damaged + "a row group lacks columns of the schema" + hint);
  parts = two_columns({3});
  parts.groups[0].chunks[1].values = 4;
  EXPECT_EQ(error_in(parts.bytes()), damaged + "column \"b\" (int32) has 4 values in a row group of 3 rows" + hint);
  parts = two_columns({3});
  parts.groups[0].chunks[1].type = kDouble;
  EXPECT_EQ(error_in(parts.bytes()),
            damaged + "column \"b\" has another type in a row group than in the schema" + hint);
}

TEST(ParquetFooter, NamesColumnTypeAndCodecOfWhatIsNotRead) {
  FileParts parts = two_columns({3});
  ChunkParts& chunk = parts.groups[0].chunks[1];
  for (const auto& [codec, name] : {std::pair(3, "lzo"), std::pair(4, "brotli"), std::pair(5, "lz4")}) {
    chunk.codec = codec;
    EXPECT_EQ(error_in(parts.bytes()),
              cat("column \"b\" (int32) is compressed by ", name, ", which is not read; write it with zstd or snappy"));
    EXPECT_EQ(groups_of(parts.bytes(), {0}).size(), 1u) << "nobody reads it";
  }
  EXPECT_THROW(groups_of(parts.bytes()), ConfigError);
  chunk.codec = 9;
  EXPECT_EQ(error_in(parts.bytes()),
            "column \"b\" (int32) is compressed by codec 9, which is not known; write it with zstd or snappy");
  chunk.codec = 0;
  chunk.encrypted = true;
  EXPECT_EQ(error_in(parts.bytes()), "column \"b\" (int32) is encrypted; write it without encryption");
}

}  // namespace
}  // namespace millrace
