#include "millrace/input/parquet/page.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/input/op_testing.h"
#include "tests/input/parquet/parquet_bytes.h"

namespace millrace {
namespace {

using testing_support::bytes_of_numbers;
using testing_support::error_of;
using testing_support::packed_run;
using testing_support::repeated_run;
using testing_support::sized;

class PageTest : public ::testing::Test {
 protected:
  Page page(const ParquetColumn& column, PageHeader header, const std::string& body) {
    PageBytes bytes;
    bytes.reserve(body.size());
    std::copy(body.begin(), body.end(), reinterpret_cast<char*>(bytes.data()));
    header.bytes = static_cast<uint32_t>(body.size());
    return {column, header, std::move(bytes), nullptr};
  }
  // The next `count` entries: a value, or '-'.
  std::string entries(const Page& page, PageCursor& at, size_t count) {
    const size_t there = page.take_levels(at, count, *scratch_);
    const std::byte* from = page.values().fixed(at.values, there, scratch_->values);
    std::string out;
    for (size_t i = 0; i < count; ++i) {
      if (there < count && scratch_->definition[i] != 1) {
        out += "- ";
        continue;
      }
      int32_t value = 0;
      std::memcpy(&value, from, sizeof value);
      from += sizeof value;
      out += cat(value, ' ');
    }
    return out;
  }

  const ParquetColumn optional_ = {.name = "a", .width = 4, .most_definition = 1};
  const ParquetColumn list_ = {.name = "a", .width = 4, .most_definition = 1, .is_list = true};
  const std::unique_ptr<PageScratch> scratch_ = std::make_unique<PageScratch>();
};

TEST_F(PageTest, GivesLevelsAndValuesFromEveryRowOn) {
  const std::string levels = packed_run({1, 0, 1, 1, 0, 0, 1, 1}, 1) + repeated_run(3, 1, 1) + repeated_run(2, 0, 1);
  const std::string values = bytes_of_numbers<int32_t>({0, 2, 3, 6, 7, 8, 9, 10});
  const std::vector<std::string> all = {"0", "-", "2", "3", "-", "-", "6", "7", "8", "9", "10", "-", "-"};
  const Page first = page(optional_, {.entries = 13}, sized(levels) + values);
  const Page second =
      page(optional_, {.second_version = true, .entries = 13, .definition_bytes = static_cast<uint32_t>(levels.size())},
           levels + values);
  for (const Page* const one : {&first, &second}) {
    EXPECT_EQ(one->count_rows(), 13u);
    EXPECT_FALSE(one->begins_within_row());
    for (size_t begin = 0; begin < all.size(); ++begin) {
      for (size_t end = begin; end <= all.size(); ++end) {
        PageCursor at = one->begin(100);
        one->pass_rows(at, begin, *scratch_);
        EXPECT_EQ(at.row, 100 + begin);
        std::string expected;
        for (size_t i = begin; i < end; ++i) expected += all[i] + ' ';
        EXPECT_EQ(entries(*one, at, end - begin), expected) << begin << ' ' << end;
      }
    }
    PageCursor at = one->begin(0);
    EXPECT_NE(error_of([&] { one->pass_rows(at, 14, *scratch_); }).find("fewer values"), std::string::npos);
  }
}

// Its first entry goes on with a row of the page before.
TEST_F(PageTest, FindsTheRowsOfLists) {
  const std::vector<uint64_t> repetition = {1, 0, 0, 1, 1, 0, 1, 0};
  const Page lists = page(list_, {.entries = 8},
                          sized(packed_run(repetition, 1)) + sized(repeated_run(8, 1, 1)) +
                              bytes_of_numbers<int32_t>({0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(lists.count_rows(), 4u);
  EXPECT_TRUE(lists.begins_within_row());
  const uint32_t begins[] = {1, 2, 5, 7, 8};
  for (uint64_t row = 0; row < 5; ++row) {
    PageCursor at = lists.begin(0);
    lists.pass_rows(at, row, *scratch_);
    EXPECT_EQ(at.entries, begins[row]);
    PageCursor step = lists.begin(0);
    lists.pass_rows(step, 0, *scratch_);
    for (uint64_t i = 0; i < row; ++i) lists.pass_rows(step, 1, *scratch_);
    EXPECT_EQ(step.entries, begins[row]);
    if (row == 4) continue;
    EXPECT_EQ(entries(lists, at, 1), cat(begins[row], ' '));
  }
}

TEST_F(PageTest, RefusesMoreDifferencesThanEntries) {
  const PageHeader head = {.encoding = PageEncoding::delta_binary_packed, .entries = 2};
  const ParquetColumn required = {.name = "a", .width = 4};
  const Page two = page(required, head, testing_support::delta_of({1, 2}));
  const Page three = page(required, head, testing_support::delta_of({1, 2, 3}));
  EXPECT_EQ(error_of([&] { two.begin(0); }), "no error");
  EXPECT_NE(error_of([&] { three.begin(0); }).find("more values than it says"), std::string::npos);
}

TEST_F(PageTest, RefusesLevelsAboveTheHighest) {
  const ParquetColumn of_two = {.name = "a", .width = 4, .most_definition = 2, .is_list = true};
  const Page repetition = page(list_, {.entries = 2}, sized(repeated_run(2, 2, 1)) + sized(repeated_run(2, 0, 1)));
  const Page run = page(optional_, {.entries = 2}, sized(repeated_run(2, 2, 1)));
  const Page packed =
      page(of_two, {.entries = 2}, sized(repeated_run(2, 0, 1)) + sized(packed_run({0, 3}, 2)) + "12345678");
  EXPECT_NE(error_of([&] { repetition.count_rows(); }).find("above the largest"), std::string::npos);
  for (const Page* const one : {&run, &packed}) {
    PageCursor at = one->begin(0);
    EXPECT_NE(error_of([&] { one->take_levels(at, 2, *scratch_); }).find("above the largest"), std::string::npos);
    PageCursor passed = one->begin(0);
    EXPECT_NE(error_of([&] { one->pass_rows(passed, 2, *scratch_); }).find("above the largest"), std::string::npos);
  }
}

TEST_F(PageTest, RefusesLevelsThatAreNone) {
  const std::string short_of =
      "the Parquet file is damaged: a page is shorter than its levels; was it copied or "
      "downloaded as a whole?";
  EXPECT_EQ(error_of([&] { page(optional_, {.entries = 1}, "abc"); }), short_of);
  EXPECT_EQ(error_of([&] { page(optional_, {.entries = 1}, std::string("\5\0\0\0abcd", 8)); }), short_of);
  EXPECT_NE(error_of([&] {
              page(optional_, {.old_definition = true, .entries = 1}, sized("ab"));
            }).find("an encoding that is no longer in use"),
            std::string::npos);
  const ParquetColumn required = {.name = "a", .width = 4};
  EXPECT_EQ(error_of([&] { page(required, {.old_definition = true, .old_repetition = true}, ""); }), "no error");
}

}  // namespace
}  // namespace millrace
