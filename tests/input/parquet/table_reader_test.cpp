#include "millrace/input/parquet/table_reader.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "millrace/input/parquet/parquet_files.h"
#include "tests/input/op_testing.h"
#include "tests/input/parquet/test_columns.h"

namespace millrace {
namespace {

using testing_support::BytesFile;
using testing_support::error_of;
using testing_support::FileParts;
using testing_support::kDouble;
using testing_support::kFloat;
using testing_support::kInt32;
using testing_support::plain_chunk;
using testing_support::row_text;

// 40 columns of float32, a label, and a double, of row groups of so many rows. Column c of row r is 90 r + c.
std::string file_of(const std::vector<int>& groups) {
  FileParts out;
  for (int c = 0; c < 40; ++c) out.schema.push_back({.name = cat("f", c), .type = kFloat});
  out.schema.push_back({.name = "label", .type = kInt32});
  out.schema.push_back({.name = "d", .type = kDouble});
  int first = 0;
  for (const int rows : groups) {
    auto& group = out.groups.emplace_back();
    group.rows = rows;
    for (int c = 0; c < 42; ++c) {
      std::vector<double> numbers;
      for (int r = first; r < first + rows; ++r) numbers.push_back(90 * r + c);
      const std::vector<float> floats(numbers.begin(), numbers.end());
      const std::vector<int32_t> ints(numbers.begin(), numbers.end());
      const size_t per_page = size_t{3} + static_cast<size_t>(c);
      group.chunks.push_back(c < 40   ? plain_chunk(kFloat, floats, per_page)
                             : c < 41 ? plain_chunk(kInt32, ints, per_page)
                                      : plain_chunk(kDouble, numbers, per_page));
    }
    first += rows;
  }
  return out.bytes();
}

class TableReaderTest : public ::testing::Test {
 protected:
  void open(const std::string& bytes, const std::string& fields) {
    requests_ = read_fields(parse_yaml(fields, "f.yaml"), true, true);
    files_ = std::make_unique<ParquetFiles>(requests_, rules_);
    file_ = std::make_shared<const BytesFile>(bytes);
    files_->add(std::make_shared<const FileEntry>(FileEntry{.path = "a.parquet", .size = bytes.size()}), *file_);
    reader_ = std::make_unique<TableReader>(files_->take_tables(), [this](const FileEntry&) { return file_; });
    spec_.fields.clear();
    for (const SelectedField& field : files_->fields()) spec_.fields.push_back(field.spec);
  }
  std::vector<std::string> rows(uint64_t begin, int64_t count, TableScratch& scratch) {
    RowBlock block;
    block.configure(spec_, count);
    block.resize(count);
    reader_->read(0, begin, count, block, scratch);
    std::vector<std::string> out;
    for (int64_t row = 0; row < count; ++row) out.push_back(row_text(block, row));
    return out;
  }

  const ValueRules rules_ = {};
  std::vector<FieldRequest> requests_;
  std::unique_ptr<ParquetFiles> files_;
  std::shared_ptr<const BytesFile> file_;
  std::unique_ptr<TableReader> reader_;
  RowSpec spec_;
  const std::unique_ptr<TableScratch> scratch_ = std::make_unique<TableScratch>();
};

constexpr const char* kFields =
    "{label: {columns: label, type: int32}, some: {columns: [2, 0, f1, d]}, all: {columns: 0-39}, wide: {columns: [d, "
    "label, f3], type: float64}, same: {columns: [d, d], type: int64}, odd: {columns: 1-7}}";

std::string expected(int row) {
  const int v = 90 * row;
  std::string out = cat("label=", v + 40, " some=", v + 2, ',', v, ',', v + 1, ',', v + 41, " all=", v);
  for (int c = 1; c < 40; ++c) out += cat(',', v + c);
  out += cat(" wide=", v + 41, ',', v + 40, ',', v + 3, " same=", v + 41, ',', v + 41, " odd=", v + 1);
  for (int c = 2; c < 8; ++c) out += cat(',', v + c);
  return out;
}

TEST_F(TableReaderTest, ReadsRowsAcrossGroupsPagesAndTiles) {
  open(file_of({7, 1, 0, 1050, 5}), kFields);
  EXPECT_EQ(reader_->tables().front().group_of(7).rows, 1u);
  EXPECT_EQ(reader_->tables().front().group_of(8).rows, 1050u);
  for (const auto& [begin, count] : {std::pair(0, 1063), std::pair(0, 1), std::pair(5, 5), std::pair(1040, 23)}) {
    const auto got = rows(static_cast<uint64_t>(begin), count, *scratch_);
    for (int i = 0; i < count; ++i) EXPECT_EQ(got[static_cast<size_t>(i)], expected(begin + i));
  }
  for (int row = 0; row < 1063; row += 14) {
    EXPECT_EQ(rows(static_cast<uint64_t>(row), 1, *scratch_).front(), expected(row));
  }
}

TEST_F(TableReaderTest, ServesSeveralTasksAtOnce) {
  open(file_of({200, 300}), kFields);
  std::vector<std::string> got(500);
  std::vector<std::thread> threads;
  for (uint64_t thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      const auto scratch = std::make_unique<TableScratch>();
      for (uint64_t begin = 20 * thread; begin < 500; begin += 80) {
        const auto some = rows(begin, 20, *scratch);
        std::copy(some.begin(), some.end(), got.begin() + static_cast<ptrdiff_t>(begin));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (int row = 0; row < 480; ++row) EXPECT_EQ(got[static_cast<size_t>(row)], expected(row));
}

TEST_F(TableReaderTest, ErrorsNameTheColumn) {
  std::string bytes = file_of({20});
  bytes[5] = '\x06';  // the first page of the first column is of another version now
  open(bytes, "{x: {columns: [f5, f0]}}");
  EXPECT_EQ(
      error_of([&] { rows(0, 20, *scratch_); }),
      "column 0 \"f0\" (x): the Parquet file is damaged: a page is not described; was it copied or downloaded as a "
      "whole?");
  open(bytes, "{x: {columns: [f5, f1]}}");
  EXPECT_EQ(error_of([&] { rows(0, 20, *scratch_); }), "no error");
}

}  // namespace
}  // namespace millrace
