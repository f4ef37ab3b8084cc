#include "millrace/input/parquet/column_pages.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "millrace/core/crc32.h"
#include "tests/input/op_testing.h"
#include "tests/input/parquet/test_columns.h"

namespace millrace {
namespace {

using testing_support::bytes_of_numbers;
using testing_support::data_page;
using testing_support::error_of;
using testing_support::packed_run;
using testing_support::page_of;
using testing_support::PageParts;
using testing_support::repeated_run;
using testing_support::sized;
using testing_support::TestColumn;
using testing_support::TestPages;
using testing_support::Thrift;

const ParquetColumn kNumbers{.name = "a", .width = 4};

// Pages of so many rows; row i has i.
std::string pages_of(const std::vector<int>& sizes) {
  std::string out;
  int32_t next = 0;
  for (const int size : sizes) {
    std::vector<int32_t> numbers;
    for (int i = 0; i < size; ++i) numbers.push_back(next++);
    out += data_page({.entries = size, .body = bytes_of_numbers(numbers)});
  }
  return out;
}

class ColumnPagesTest : public ::testing::Test {
 protected:
  // The value at a spot.
  int32_t value(ColumnPages::Spot& spot) {
    int32_t out = -1;
    std::memcpy(&out, spot.page->values().fixed(spot.cursor.values, 1, scratch_->values), sizeof out);
    return out;
  }
  std::string error_at(const std::string& pages, uint64_t row, uint64_t values = 10) {
    return error_of([&] { TestPages{pages, values}.open(column_)->at(row, *scratch_); });
  }

  const TestColumn column_{kNumbers, "columns: 0, type: int32"};
  const std::unique_ptr<PageReadScratch> scratch_ = std::make_unique<PageReadScratch>();
};

TEST_F(ColumnPagesTest, FindsEveryRowInAnyOrder) {
  const std::string other = page_of(1, {.body = "an index"}, 6, {});
  const auto pages = TestPages{other + pages_of({3, 0, 1, 5}) + other, 9}.open(column_);
  for (const uint64_t row : {8u, 0u, 3u, 2u, 4u, 4u, 7u, 1u, 5u, 6u}) {
    ColumnPages::Spot spot = pages->at(row, *scratch_);
    EXPECT_EQ(value(spot), static_cast<int32_t>(row));
    EXPECT_EQ(spot.end, row < 3 ? 3u : row < 4 ? 4u : 9u);
  }
  EXPECT_NE(error_of([&] { pages->at(9, *scratch_); }).find("fewer values than rows"), std::string::npos);
  ColumnPages::Spot spot = pages->after(pages->at(2, *scratch_), *scratch_);
  EXPECT_EQ(value(spot), 3);
  EXPECT_EQ(pages->after(pages->at(8, *scratch_), *scratch_).page, nullptr);
}

TEST_F(ColumnPagesTest, LetsPagesGoWhenTheirRowsWereRead) {
  const auto pages = TestPages{pages_of({4, 4}), 8}.open(column_);
  for (int pass = 0; pass < 3; ++pass) {
    ColumnPages::Spot spot = pages->at(0, *scratch_);
    const std::weak_ptr<const Page> page = spot.page;
    spot.cursor.row = 2;
    pages->leave(std::move(spot), 2);
    spot = {};
    EXPECT_FALSE(page.expired()) << "others need it";
    spot = pages->at(2, *scratch_);
    EXPECT_EQ(spot.page, page.lock());
    spot.cursor.row = 4;
    pages->leave(std::move(spot), 2);
    spot = {};
    EXPECT_TRUE(page.expired()) << pass;
  }
}

TEST_F(ColumnPagesTest, HoldsFewPagesThatNobodyFinishes) {
  const auto pages = TestPages{pages_of(std::vector<int>(20, 2)), 40}.open(column_);
  std::vector<std::weak_ptr<const Page>> seen;
  for (uint64_t row = 0; row < 40; row += 2) seen.push_back(pages->at(row, *scratch_).page);
  EXPECT_LE(std::count_if(seen.begin(), seen.end(), [](const auto& page) { return !page.expired(); }), 4);
}

TEST_F(ColumnPagesTest, GoesOnWhereAReaderLeft) {
  const auto pages = TestPages{pages_of({8}), 8}.open(column_);
  ColumnPages::Spot spot = pages->at(0, *scratch_);
  for (int i = 0; i < 5; ++i) value(spot);
  spot.cursor.row = 3;  // a lie, to see that it is used
  pages->leave(std::move(spot), 3);
  spot = pages->at(3, *scratch_);
  EXPECT_EQ(value(spot), 5);
  spot = pages->at(2, *scratch_);
  EXPECT_EQ(value(spot), 2);
}

TEST_F(ColumnPagesTest, CountsTheRowsOfListsByTheirLevels) {
  const ParquetColumn lists{.name = "a", .width = 4, .most_definition = 1, .is_list = true};
  const TestColumn column(lists, "columns: 0, type: int32", 0);
  const auto page = [](const std::vector<uint64_t>& repetition, const std::vector<int32_t>& numbers) {
    const std::string levels = sized(packed_run(repetition, 1)) + sized(repeated_run(numbers.size(), 1, 1));
    return data_page({.entries = static_cast<int64_t>(numbers.size()), .body = levels + bytes_of_numbers(numbers)});
  };
  // The second row lies in three pages.
  const std::string bytes = page({0, 1, 0}, {0, 1, 2}) + page({1, 1}, {3, 4}) + page({1, 0, 0}, {5, 6, 7});
  const auto pages = TestPages{bytes, 8}.open(column);
  const int32_t first[] = {0, 2, 6, 7};
  for (const uint64_t row : {3u, 0u, 1u, 2u}) {
    ColumnPages::Spot spot = pages->at(row, *scratch_);
    EXPECT_EQ(value(spot), first[row]);
  }
}

TEST_F(ColumnPagesTest, ChecksSizesAndChecksums) {
  const std::string body = bytes_of_numbers<int32_t>({1, 2});
  const std::string damaged = "the Parquet file is damaged: ", hint = "; was it copied or downloaded as a whole?";
  EXPECT_EQ(error_at(data_page({.entries = 2, .body = body, .crc = crc32_of(body)}), 1, 2), "no error");
  const std::string wrong = data_page({.entries = 2, .body = body, .crc = crc32_of(body) + 1});
  EXPECT_EQ(error_at(wrong, 1, 2), cat(damaged, "the checksum of the page at byte ", wrong.size() - body.size(),
                                       " is not what the file says", hint));
  EXPECT_EQ(error_at(data_page({.entries = 2, .body = body, .bytes = 9}), 1, 2),
            damaged + "a page that is not compressed has two sizes" + hint);
  EXPECT_EQ(error_at(data_page({.entries = 3, .body = body}), 1, 2),
            damaged + "its pages have more values than it" + hint);
  EXPECT_EQ(error_at("", 0), damaged + "a page is cut short" + hint);
  const std::string whole = pages_of({10});
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_EQ(error_at(whole.substr(0, size), 0), damaged + "a page is cut short" + hint) << size;
  }
  EXPECT_EQ(error_at(pages_of({5}), 7), damaged + "a page is cut short" + hint);
  // A header is found however long it is.
  Thrift long_header;
  long_header.number(1, 10).number(2, 0).number(3, 3).number(4, 3).part(5, Thrift().text(1, std::string(50000, 'x')));
  EXPECT_EQ(error_at(page_of(0, {.body = std::string(40, '\0')}, 5, long_header), 9), "no error");
}

TEST_F(ColumnPagesTest, ServesSeveralTasksAtOnce) {
  const auto pages = TestPages{pages_of(std::vector<int>(30, 100)), 3000}.open(column_);
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (uint64_t thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      const auto scratch = std::make_unique<PageReadScratch>();
      for (uint64_t row = thread * 10; row < 3000; row += 40) {
        ColumnPages::Spot spot = pages->at(row, *scratch);
        int32_t out = -1;
        std::memcpy(&out, spot.page->values().fixed(spot.cursor.values, 1, scratch->values), sizeof out);
        if (out != static_cast<int32_t>(row)) ++wrong;
        spot.cursor = spot.page->begin(spot.end - 100);
        spot.page->pass_rows(spot.cursor, row + 10 - spot.cursor.row, *scratch);
        pages->leave(std::move(spot), 10);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace millrace
