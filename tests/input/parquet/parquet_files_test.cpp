#include "millrace/input/parquet/parquet_files.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/input/op_testing.h"
#include "tests/input/parquet/test_columns.h"

namespace millrace {
namespace {

using testing_support::BytesFile;
using testing_support::error_of;
using testing_support::FileParts;
using testing_support::kBytes;
using testing_support::kDouble;
using testing_support::kFloat;
using testing_support::kInt32;
using testing_support::kInt64;
using testing_support::plain_chunk;

constexpr int kList = 3, kMap = 1;

FileParts lists_and_more() {
  FileParts out{.schema = {{.name = "a", .type = kFloat},
                           {.name = "time", .type = kInt64, .converted = 9},
                           {.name = "v", .repetition = 1, .children = 1, .converted = kList},
                           {.name = "list", .repetition = 2, .children = 1},
                           {.name = "element", .type = kFloat},
                           {.name = "m", .children = 1, .converted = kMap},
                           {.name = "key_value", .repetition = 2, .children = 1},
                           {.name = "key", .type = kBytes},
                           {.name = "w", .type = kInt32, .repetition = 2}},
                .columns = 5};
  out.groups.push_back({.rows = 0, .chunks = std::vector<testing_support::ChunkParts>(5)});
  const int types[] = {kFloat, kInt64, kFloat, kBytes, kInt32};
  for (size_t i = 0; i < 5; ++i) out.groups[0].chunks[i].type = types[i];
  return out;
}

class ParquetFilesTest : public ::testing::Test {
 protected:
  // Adds the files; "float32 (1), .." of the fields.
  std::string types(const std::string& fields, const std::vector<FileParts>& all) {
    const auto requests = read_fields(parse_yaml(fields, "f.yaml"), true, true);
    ParquetFiles files(requests, rules_);
    for (size_t i = 0; i < all.size(); ++i) {
      const BytesFile file(all[i].bytes());
      files.add(std::make_shared<const FileEntry>(
                    FileEntry{.path = cat(i, ".parquet"), .index = static_cast<uint32_t>(i), .size = file.size()}),
                file);
    }
    std::string out;
    for (const SelectedField& field : files.fields()) out += cat(field.spec.type_text(), ' ');
    tables_ = files.take_tables();
    return out;
  }
  std::string error(const std::string& field, const std::vector<FileParts>& all = {lists_and_more()}) {
    return error_of([&] { types(cat("{x: {", field, "}}"), all); });
  }

  const ValueRules rules_ = {};
  std::vector<ParquetTable> tables_;
};

TEST_F(ParquetFilesTest, AColumnOfNothingButNullsIsOfAnyType) {
  using testing_support::Thrift;
  for (const int stored : {testing_support::kBoolean, kInt32, kInt64, testing_support::kInt96, kFloat, kBytes}) {
    const FileParts nulls{
        .schema = {{.name = "a", .type = stored, .repetition = 1, .logical = Thrift().part(11, Thrift())}},
        .groups = {{.rows = 0, .chunks = {{.type = stored}}}}};
    EXPECT_EQ(types("{n: {columns: a}, i: {columns: a, type: uint8}, s: {columns: a, type: string}, d: {columns: a, "
                    "type: date}, t: {columns: a, type: timestamp, as: int64}}",
                    {nulls}),
              "float32 (1) uint8 (1) string (1) float64 (1) int64 (1) ")
        << stored;
  }
}

TEST_F(ParquetFilesTest, OptionsAndColumnsMakeTheFields) {
  EXPECT_EQ(types("{a: {columns: a}, all: {columns: [a, a], type: float64}, t: {columns: time, type: timestamp}, v: "
                  "{columns: v}, w: {columns: w, type: int64, split: \";\"}, r: {columns: 2, reshape: [2, 3]}}",
                  {lists_and_more()}),
            "float32 (1) float64 (2) float64 (1) float32 (ragged) int64 (ragged) float32 (2, 3) ");
}

TEST_F(ParquetFilesTest, EveryFileHasItsOwnOrderAndTypes) {
  FileParts other{.schema = {{.name = "b", .type = kFloat}, {.name = "a", .type = kDouble, .repetition = 1}}};
  other.groups.push_back({.rows = 1, .chunks = {plain_chunk<float>(kFloat, {1}), plain_chunk<double>(kDouble, {2})}});
  EXPECT_EQ(types("{x: {columns: a}}", {lists_and_more(), other}), "float32 (1) ");
  EXPECT_EQ(tables_[0].columns[0]->number(), 0u);
  EXPECT_EQ(tables_[1].columns[0]->number(), 1u);
  EXPECT_EQ(tables_[1].columns[0]->column().stored, StoredType::float64);
  FileParts list = other;
  list.schema[1].repetition = 2;
  EXPECT_EQ(error("columns: a", {lists_and_more(), list}),
            "1.parquet: the field x is float32 (ragged) here, and float32 (1) in 0.parquet");
}

TEST_F(ParquetFilesTest, SaysWhatTheFileLacksOrWhatIsNotRead) {
  EXPECT_EQ(error("columns: b"),
            "f.yaml:1:15: x.columns: the header of 0.parquet has no column \"b\"; it has a, time, v, m and w");
  EXPECT_EQ(error("columns: tim"),
            "f.yaml:1:15: x.columns: the header of 0.parquet has no column \"tim\"; did you mean time?");
  EXPECT_EQ(error("columns: 3-9"),
            "f.yaml:1:15: x.columns: there is no column 9: the records of 0.parquet have 5 columns (0 to 4)");
  EXPECT_EQ(error("columns: m"), "f.yaml:1:15: x.columns: column \"m\" of 0.parquet holds maps, which are not read");
  EXPECT_EQ(error("columns: time"),
            "f.yaml:1:15: x.columns: column \"time\" of 0.parquet: it holds timestamps, and x is of type float32; set "
            "type: timestamp for x: seconds since 1970");
  EXPECT_EQ(error("columns: [a, v]"),
            "f.yaml:1:16: x.columns[0]: a field of lists has one column, got 2; make a field of each");
  EXPECT_EQ(error("columns: v, reshape: [-1, 2]"),
            "f.yaml:1:27: x.reshape: lists have no length of their own, so all sizes must be given");
  EXPECT_EQ(
      error("columns: a, split: \" \""),
      "f.yaml:1:15: x.columns: a field with split holds lists, and column \"a\" of 0.parquet holds float32; leave "
      "split out");
  EXPECT_EQ(error("columns: a, reshape: [2]").substr(0, 60),
            "f.yaml:1:27: x.reshape: expected 2 columns for the shape (2)");
}

TEST_F(ParquetFilesTest, ErrorsOfTheFileNameIt) {
  FileParts parts = lists_and_more();
  parts.rows = 5;
  EXPECT_EQ(error("columns: a", {parts}).substr(0, 43), "0.parquet: the Parquet file is damaged: its");
  FileParts none{.schema = {}};
  EXPECT_EQ(error("columns: a", {none}), "0.parquet: the Parquet file has no columns");
}

}  // namespace
}  // namespace millrace
