#include "millrace/input/parquet/row_faults.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/input/op_testing.h"
#include "tests/input/parquet/test_columns.h"

namespace millrace {
namespace {

using testing_support::TestColumn;

const ParquetColumn kInts{.name = "a", .stored = StoredType::int64, .width = 8};
const ParquetColumn kTexts{.name = "a", .stored = StoredType::bytes, .meaning = Meaning::text};

TEST(RowFaults, TheLeftmostOfARowCounts) {
  ValueRules rules;
  const SelectedField field = testing_support::selected_field("columns: 0");
  const auto column = [&](size_t field_number, uint32_t number) {
    return FieldColumn(
        {.field = field, .field_number = field_number, .column = kInts, .number = number, .rules = rules});
  };
  const FieldColumn right = column(0, 5), left = column(2, 1), same = column(1, 1);
  RowFaults faults;
  faults.add({.row = 7, .column = &right});
  faults.add({.row = 2, .column = &right});
  faults.add({.row = 7, .column = &left});
  faults.add({.row = 7, .column = &same});
  faults.add({.row = 7, .column = &left});
  EXPECT_FALSE(faults.empty());
  const auto found = faults.take();
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].row, 2);
  EXPECT_EQ(found[1].row, 7);
  EXPECT_EQ(found[1].column, &same);
  EXPECT_TRUE(faults.empty());
}

TEST(RowFaults, SayHowToMendTheRow) {
  const auto what = [](const ParquetColumn& kind, const std::string& options, ValueFault fault, std::string value) {
    const TestColumn column(kind, options);
    return std::string(error_of({.column = column.get().get(), .fault = fault, .value = std::move(value)}).what());
  };
  const std::string name = "column 3 \"a\" (x): ";
  EXPECT_EQ(what(kInts, "columns: 0", ValueFault::required, ""), name + "the value is missing; give x a default");
  EXPECT_EQ(what(kTexts, "columns: 0, type: string", ValueFault::required, "?"),
            name + "the value \"?\" means none; give x a default");
  EXPECT_EQ(what(kInts, "columns: 0, type: int32", ValueFault::malformed, "3000000000"),
            name + "3000000000 is out of the range of int32; set type: int64 or float64 for x");
  EXPECT_EQ(what(kInts, "columns: 0, type: int32", ValueFault::malformed, "0.5"),
            name + "expected int32, got \"0.5\"; set type: float32 or float64 for x, unless it holds classes or ids");
  EXPECT_EQ(what(kTexts, "columns: 0", ValueFault::malformed, "abc"), name + "expected float32, got \"abc\"");
  EXPECT_EQ(what(kInts, "columns: 0", ValueFault::nonfinite, ""),
            name + "the value is not finite as float32; set parquet_reader: {allow_nonfinite: true}");
}

}  // namespace
}  // namespace millrace
