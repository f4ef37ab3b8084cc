#include "millrace/input/parquet/list_rows.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/input/op_testing.h"
#include "tests/input/parquet/test_columns.h"

namespace millrace {
namespace {

using testing_support::bytes_of_numbers;
using testing_support::error_of;
using testing_support::row_text;
using testing_support::TestColumn;

const ParquetColumn kLists{.name = "a", .width = 4, .is_list = true};

// Adds [1, 2, 3], a missing list, and a row with a bad value.
std::vector<std::string> three_rows(const TestColumn& column) {
  RowBlock rows = column.rows(3);
  rows.clear_varying();
  RowFaults faults;
  VaryingLimit limit;
  ListRows lists({*column.get(), rows, 0, faults, limit});
  const std::string numbers = bytes_of_numbers<int32_t>({1, 2, 3});
  lists.begin_row();
  lists.add_numbers(reinterpret_cast<const std::byte*>(numbers.data()), 2);
  lists.add_numbers(reinterpret_cast<const std::byte*>(numbers.data()) + 8, 1);
  lists.begin_row();
  lists.add_missing_list();
  lists.begin_row();
  lists.add_missing_value();
  lists.add_bad({.column = column.get().get(), .fault = ValueFault::malformed, .value = "x"});
  lists.add_numbers(reinterpret_cast<const std::byte*>(numbers.data()), 1);
  lists.end();
  std::vector<std::string> out;
  for (int64_t row = 0; row < 3; ++row) out.push_back(row_text(rows, row).substr(2));
  for (const RowFault& fault : faults.take())
    out[static_cast<size_t>(fault.row)] = error_of([&] { throw error_of(fault); });
  return out;
}

TEST(ListRows, KeepsListsOfAnyLength) {
  EXPECT_EQ(three_rows({kLists, "columns: 0, type: int32", 0}),
            (std::vector<std::string>{"1,2,3", "column 3 \"a\" (x): the value is missing; give x a default: []",
                                      "column 3 \"a\" (x), value 0: the value is missing"}));
  EXPECT_EQ(three_rows({kLists, "columns: 0, type: int32, default: []", 0})[1], "");
}

TEST(ListRows, FillsRowsOfOneLength) {
  EXPECT_EQ(three_rows({kLists, "columns: 0, type: int32, reshape: [3], default: [7, 8, 9]", 3}),
            (std::vector<std::string>{"1,2,3", "7,8,9", "column 3 \"a\" (x), value 1: expected int32, got \"x\""}));
  EXPECT_EQ(three_rows({kLists, "columns: 0, type: int32, reshape: [2]", 2})[0],
            "column 3 \"a\" (x): expected a list of 2 values, got 3");
}

TEST(ListRows, RefusesValuesOfAListWithoutValues) {
  const TestColumn column(kLists, "columns: 0, type: int32", 0);
  RowBlock rows = column.rows(2);
  rows.clear_varying();
  RowFaults faults;
  VaryingLimit limit;
  ListRows lists({*column.get(), rows, 0, faults, limit});
  const std::string number = bytes_of_numbers<int32_t>({1});
  lists.begin_row();
  lists.close();
  EXPECT_NE(error_of([&] { lists.go_on(); }).find("a list without values goes on"), std::string::npos);
  lists.begin_row();
  lists.add_numbers(reinterpret_cast<const std::byte*>(number.data()), 1);
  EXPECT_EQ(error_of([&] { lists.go_on(); }), "no error");
  EXPECT_NE(error_of([&] { lists.close(); }).find("a list without values goes on"), std::string::npos);
}

TEST(VaryingLimit, IsAnError) {
  VaryingLimit limit;
  limit.add(uint64_t{256} << 20);
  EXPECT_NE(error_of([&] { limit.add(1); }).find("set a smaller chunk_bytes"), std::string::npos);
  limit.clear();
  EXPECT_EQ(error_of([&] { limit.add(1); }), "no error");
}

}  // namespace
}  // namespace millrace
