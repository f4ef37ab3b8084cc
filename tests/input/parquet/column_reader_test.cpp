#include "millrace/input/parquet/column_reader.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "tests/input/op_testing.h"
#include "tests/input/parquet/test_columns.h"

namespace millrace {
namespace {

using testing_support::bytes_of_numbers;
using testing_support::data_page;
using testing_support::dictionary_page;
using testing_support::error_of;
using testing_support::packed_run;
using testing_support::plain_texts;
using testing_support::repeated_run;
using testing_support::row_text;
using testing_support::sized;
using testing_support::TestColumn;
using testing_support::TestPages;

class ColumnReaderTest : public ::testing::Test {
 protected:
  // Rows [begin, end), read in pieces, and then the faults: "0:missing".
  std::vector<std::string> numbers(const TestPages& pages, const TestColumn& column, size_t begin, size_t end,
                                   size_t piece) {
    ColumnReader reader(pages.open(column), begin);
    std::vector<int32_t> out(end - begin);
    for (size_t at = 0; at < out.size(); at += piece) {
      const size_t some = std::min(piece, out.size() - at);
      reader.read_numbers(some, reinterpret_cast<std::byte*>(out.data() + at), static_cast<int64_t>(at), *scratch_);
    }
    reader.finish();
    std::vector<std::string> lines;
    for (const int32_t number : out) lines.push_back(cat(number));
    for (const RowFault& fault : scratch_->faults.take()) {
      lines[static_cast<size_t>(fault.row)] = fault.fault == ValueFault::required ? "missing" : "bad " + fault.value;
    }
    return lines;
  }
  std::vector<std::string> varying(const TestPages& pages, const TestColumn& column, size_t begin, size_t end,
                                   size_t piece) {
    ColumnReader reader(pages.open(column), begin);
    RowBlock rows = column.rows(static_cast<int64_t>(end - begin));
    rows.clear_varying();
    for (size_t at = 0; at < end - begin; at += piece) {
      reader.read_varying(std::min(piece, end - begin - at), rows, static_cast<int64_t>(at), *scratch_);
    }
    reader.finish();
    std::vector<std::string> lines;
    for (int64_t row = 0; row < rows.size(); ++row) lines.push_back(row_text(rows, row).substr(2));
    for (const RowFault& fault : scratch_->faults.take()) {
      std::string& line = lines[static_cast<size_t>(fault.row)];
      line = fault.length ? cat("length ", *fault.length) : fault.element ? cat("value ", *fault.element) : "missing";
    }
    return lines;
  }
  // From every row to every other one, in pieces.
  template <class Read>
  void expect_all(const std::vector<std::string>& all, const Read& read) {
    for (size_t begin = 0; begin < all.size(); ++begin) {
      for (const size_t end : {begin + 1u, all.size()}) {
        for (const size_t piece : {1u, 2u, 1000u}) {
          const std::vector<std::string> expected(all.begin() + static_cast<ptrdiff_t>(begin),
                                                  all.begin() + static_cast<ptrdiff_t>(end));
          EXPECT_EQ(read(begin, end, piece), expected) << begin << ' ' << end << ' ' << piece;
        }
      }
    }
  }

  const std::unique_ptr<ReaderScratch> scratch_ = std::make_unique<ReaderScratch>();
};

const ParquetColumn kOptional{.name = "a", .stored = StoredType::float64, .width = 8, .most_definition = 1};

TEST_F(ColumnReaderTest, ReadsNumbersAcrossPages) {
  const std::string doubles = bytes_of_numbers<double>({10, 11, 2.5});
  const TestPages pages{
      data_page({.entries = 5, .body = sized(packed_run({1, 0, 1, 0, 1}, 1)) + doubles}) +
          data_page({.entries = 2, .body = sized(repeated_run(2, 0, 1))}) +
          data_page({.entries = 2, .body = sized(repeated_run(2, 1, 1)) + bytes_of_numbers<double>({-1, -2})}),
      9};
  const TestColumn bare(kOptional, "columns: 0, type: int32");
  expect_all({"10", "missing", "11", "missing", "bad 2.5", "missing", "missing", "-1", "-2"},
             [&](size_t begin, size_t end, size_t piece) { return numbers(pages, bare, begin, end, piece); });
  const TestColumn with_default(kOptional, "columns: 0, type: int32, default: 7, missing: [\"-2\"]");
  expect_all({"10", "7", "11", "7", "bad 2.5", "7", "7", "-1", "7"},
             [&](size_t begin, size_t end, size_t piece) { return numbers(pages, with_default, begin, end, piece); });
}

TEST_F(ColumnReaderTest, ReadsNumbersOfADictionary) {
  const TestPages pages{
      dictionary_page({.entries = 3, .body = bytes_of_numbers<double>({5, 6, 0.5})}) +
          data_page({.entries = 4,
                     .encoding = 8,
                     .body = sized(packed_run({1, 0, 1, 1}, 1)) + "\x02" + packed_run({1, 2, 0}, 2)}) +
          data_page({.entries = 2, .body = sized(repeated_run(2, 1, 1)) + bytes_of_numbers<double>({8, 9})}),
      6};
  const TestColumn column(kOptional, "columns: 0, type: int32, default: 1");
  expect_all({"6", "1", "bad 0.5", "5", "8", "9"},
             [&](size_t begin, size_t end, size_t piece) { return numbers(pages, column, begin, end, piece); });
}

TEST_F(ColumnReaderTest, ReadsTexts) {
  const ParquetColumn texts{.name = "a", .stored = StoredType::bytes, .meaning = Meaning::text, .most_definition = 1};
  const TestPages pages{
      data_page({.entries = 4, .body = sized(packed_run({0, 1, 1, 0}, 1)) + plain_texts({"", "two"})}) +
          data_page({.entries = 1, .body = sized(repeated_run(1, 1, 1)) + plain_texts({"none"})}),
      5};
  const TestColumn column(texts, "columns: 0, type: string, default: d, missing: [none]");
  expect_all({"\"d\"", "\"\"", "\"two\"", "\"d\"", "\"d\""},
             [&](size_t begin, size_t end, size_t piece) { return varying(pages, column, begin, end, piece); });
  const TestColumn decoded(kOptional, "columns: 0, type: string, default: d, missing: ['2.5']");
  const TestPages doubles{
      dictionary_page({.entries = 2, .body = bytes_of_numbers<double>({5, 2.5})}) +
          data_page(
              {.entries = 3, .encoding = 8, .body = sized(packed_run({1, 0, 1}, 1)) + "\x01" + packed_run({0, 1}, 1)}) +
          data_page({.entries = 1, .body = sized(repeated_run(1, 1, 1)) + bytes_of_numbers<double>({-7})}),
      4};
  expect_all({"\"5\"", "\"d\"", "\"d\"", "\"-7\""},
             [&](size_t begin, size_t end, size_t piece) { return varying(doubles, decoded, begin, end, piece); });
  const TestColumn bare(texts, "columns: 0, type: string");
  expect_all({"missing", "\"\"", "\"two\"", "missing", "\"none\""},
             [&](size_t begin, size_t end, size_t piece) { return varying(pages, bare, begin, end, piece); });
}

class ListReaderTest : public ColumnReaderTest {
 protected:
  // [1, 2], missing, [], [3, missing], [4, 5, 6, 7]: the last one lies in three pages.
  static std::string page(const std::vector<uint64_t>& repetition, const std::vector<uint64_t>& definition,
                          const std::string& values) {
    return data_page({.entries = static_cast<int64_t>(definition.size()),
                      .body = sized(packed_run(repetition, 1)) + sized(packed_run(definition, 2)) + values});
  }
  template <class Values>
  static TestPages pages(const Values& values) {
    return {page({0, 1, 0, 0, 0, 1, 0}, {3, 3, 0, 1, 3, 2, 3}, values(0, 4)) + page({1}, {3}, values(4, 5)) +
                page({1, 1}, {3, 3}, values(5, 7)),
            10};
  }
  static ParquetColumn lists(StoredType stored, uint32_t width, Meaning meaning) {
    return {.name = "a",
            .stored = stored,
            .meaning = meaning,
            .width = width,
            .most_definition = 3,
            .empty_definition = 1,
            .is_list = true};
  }
  const TestPages numbers_ = pages([](int begin, int end) {
    std::vector<int64_t> out;
    for (int i = begin; i < end; ++i) out.push_back(i + 1);
    return bytes_of_numbers(out);
  });
  const ParquetColumn of_numbers_ = lists(StoredType::int64, 8, Meaning::number);
};

TEST_F(ListReaderTest, ReadsListsOfAnyLengthAcrossPages) {
  const TestColumn bare(of_numbers_, "columns: 0", 0);
  expect_all({"1,2", "missing", "", "value 1", "4,5,6,7"},
             [&](size_t begin, size_t end, size_t piece) { return varying(numbers_, bare, begin, end, piece); });
  const TestColumn with_default(of_numbers_, "columns: 0, type: uint8, default: [8, 9]", 0);
  expect_all({"1,2", "8,9", "", "value 1", "4,5,6,7"}, [&](size_t begin, size_t end, size_t piece) {
    return varying(numbers_, with_default, begin, end, piece);
  });
}

TEST_F(ListReaderTest, ReadsListsOfOneLength) {
  const TestColumn two(of_numbers_, "columns: 0, reshape: [2], default: [8, 9]", 2);
  expect_all({"1,2", "8,9", "length 0", "3,9", "length 4"},
             [&](size_t begin, size_t end, size_t piece) { return varying(numbers_, two, begin, end, piece); });
  const TestColumn four(of_numbers_, "columns: 0, reshape: [2, 2]", 4);
  expect_all({"length 2", "missing", "length 0", "value 1", "4,5,6,7"},
             [&](size_t begin, size_t end, size_t piece) { return varying(numbers_, four, begin, end, piece); });
  const TestColumn checked(of_numbers_, "columns: 0, reshape: [2], missing: [\"2\"], default: 0", 2);
  EXPECT_EQ(varying(numbers_, checked, 0, 1, 1).front(), "1,0");
}

TEST_F(ListReaderTest, ReadsListsOfTexts) {
  const TestColumn column(lists(StoredType::bytes, 0, Meaning::text), "columns: 0, type: string, default: [a, b]", 0);
  const TestPages texts = pages([](int begin, int end) {
    std::vector<std::string> out;
    for (int i = begin; i < end; ++i) out.push_back(cat("t", i + 1));
    return plain_texts(out);
  });
  expect_all({R"("t1","t2")", R"("a","b")", "", "value 1", R"("t4","t5","t6","t7")"},
             [&](size_t begin, size_t end, size_t piece) { return varying(texts, column, begin, end, piece); });
}

TEST_F(ListReaderTest, RefusesLevelsThatMakeNoLists) {
  const TestColumn column(of_numbers_, "columns: 0, default: []", 0);
  const auto error = [&](const std::string& text, uint64_t values, uint64_t rows) {
    return error_of([&] { varying({text, values, PageCodec::none, rows}, column, 0, rows, 1000); });
  };
  const std::string two = bytes_of_numbers<int64_t>({1, 2});
  const std::string goes_on = "a list without values goes on";
  EXPECT_EQ(error(page({0, 1, 0}, {3, 3, 1}, two), 3, 2), "no error");
  EXPECT_NE(error(page({0, 1, 0}, {3, 1, 3}, two), 3, 2).find(goes_on), std::string::npos) << "an empty list";
  EXPECT_NE(error(page({0, 1, 0}, {0, 3, 3}, two), 3, 2).find(goes_on), std::string::npos) << "a missing list";
  EXPECT_NE(error(page({0}, {1}, "") + page({1, 0}, {3, 3}, two), 3, 2).find(goes_on), std::string::npos);
  EXPECT_NE(error(page({1, 0}, {3, 3}, two), 2, 1).find("its first list has no beginning"), std::string::npos);
  const std::string more = "its pages have more rows than its row group";
  EXPECT_NE(error(page({0, 0, 1}, {1, 3, 3}, two), 3, 1).find(more), std::string::npos);
  EXPECT_NE(error(page({0}, {1}, "") + page({0, 1}, {3, 3}, two), 3, 1).find(more), std::string::npos);
}

// A run of a few bytes may stand for as many values as one likes.
TEST_F(ListReaderTest, StopsWhereListsTakeTooMuch) {
  const int64_t count = 1 << 30;
  const std::string levels =
      sized(repeated_run(1, 0, 1) + repeated_run(count, 1, 1)) + sized(repeated_run(count, 3, 2));
  const TestPages pages{
      dictionary_page({.entries = 1, .body = bytes_of_numbers<int64_t>({5})}) +
          data_page(
              {.entries = count, .encoding = 8, .body = levels + '\0' + testing_support::varint(uint64_t{count} << 1)}),
      static_cast<uint64_t>(count)};
  const TestColumn column(of_numbers_, "columns: 0, type: float64", 0);
  EXPECT_EQ(error_of([&] { varying(pages, column, 0, 1, 1); }),
            "texts and lists that are read at once take more than 268435456 bytes; set a smaller chunk_bytes");
}

}  // namespace
}  // namespace millrace
