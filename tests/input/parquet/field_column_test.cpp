#include "millrace/input/parquet/field_column.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "tests/input/op_testing.h"
#include "tests/input/parquet/test_columns.h"

namespace millrace {
namespace {

using testing_support::bytes_of_numbers;
using testing_support::error_of;
using testing_support::plain_texts;
using testing_support::TestColumn;

const ParquetColumn kTexts{.name = "a", .stored = StoredType::bytes, .meaning = Meaning::text};
const ParquetColumn kDoubles{.name = "a", .stored = StoredType::float64, .width = 8};

TEST(FieldColumn, KnowsWhatMeansAMissingValue) {
  const TestColumn column(kDoubles, "columns: 0, missing: [nan, \"-999\", \"?\"], default: 0.5");
  EXPECT_EQ(column.get()->name(), "column 3 \"a\" (x)");
  EXPECT_TRUE(column.get()->checks_numbers());
  const auto fault = [](const TestColumn& of, float number) {
    return of.get()->fault_of(reinterpret_cast<const std::byte*>(&number));
  };
  EXPECT_EQ(fault(column, std::nanf("")), ValueFault::required);
  EXPECT_EQ(fault(column, -999), ValueFault::required);
  EXPECT_EQ(fault(column, INFINITY), ValueFault::none);
  const TestColumn finite(kDoubles, "columns: 0", 1, {{"-1"}, false});
  EXPECT_EQ(fault(finite, INFINITY), ValueFault::nonfinite);
  EXPECT_EQ(fault(finite, -1), ValueFault::required);
  EXPECT_FALSE(TestColumn(kDoubles, "columns: 0").get()->checks_numbers());
}

TEST(FieldColumn, ConvertsTextsAndTheirDefaults) {
  const TestColumn column(kTexts, "columns: 0, type: int32, missing: [\"?\"], default: 7");
  const auto converted = [](const TestColumn& of, std::string_view text) {
    int32_t out = 0;
    const ValueFault fault = of.get()->convert_text(text, reinterpret_cast<std::byte*>(&out));
    return fault == ValueFault::none ? cat(out) : cat("fault ", static_cast<int>(fault));
  };
  EXPECT_EQ(converted(column, "12"), "12");
  EXPECT_EQ(converted(column, ""), "7");
  EXPECT_EQ(converted(column, "?"), "7");
  EXPECT_EQ(converted(column, "x"), cat("fault ", static_cast<int>(ValueFault::malformed)));
  const TestColumn without(kTexts, "columns: 0, type: int32");
  EXPECT_EQ(converted(without, ""), cat("fault ", static_cast<int>(ValueFault::required)));
  int32_t old = 5;
  EXPECT_EQ(without.get()->convert_text("", reinterpret_cast<std::byte*>(&old)), ValueFault::required);
  EXPECT_EQ(old, 0);
  EXPECT_TRUE(TestColumn(kTexts, "columns: 0, type: string, missing: [none]").get()->is_missing("none"));
}

class DictionaryTest : public ::testing::Test {
 protected:
  std::shared_ptr<const Dictionary> dictionary(const TestColumn& column, const std::string& values, size_t size) {
    PageBytes bytes;
    bytes.reserve(values.size());
    std::copy(values.begin(), values.end(), reinterpret_cast<char*>(bytes.data()));
    return column.get()->dictionary(std::move(bytes), values.size(), size, *scratch_);
  }
  const std::unique_ptr<ValueScratch> scratch_ = std::make_unique<ValueScratch>();
};

TEST_F(DictionaryTest, IsConvertedOnce) {
  const TestColumn numbers(kDoubles, "columns: 0, type: int32");
  const auto found = dictionary(numbers, bytes_of_numbers<double>({1, 2.5, 3}), 3);
  ASSERT_EQ(found->numbers.capacity(), 12u);
  EXPECT_EQ(std::memcmp(found->numbers.data(), std::vector<int32_t>{1, 0, 3}.data(), 12), 0);
  EXPECT_EQ(found->bad, (std::vector<uint8_t>{0, 1, 0}));
  EXPECT_NE(found->bytes.data(), nullptr);  // the bad value is told as it is stored
  const auto good = dictionary(numbers, bytes_of_numbers<double>({1}), 1);
  EXPECT_TRUE(good->bad.empty());
  EXPECT_EQ(good->bytes.data(), nullptr);

  const TestColumn texts(kTexts, "columns: 0, type: string");
  EXPECT_EQ(dictionary(texts, plain_texts({"a", "", "bc"}), 3)->texts, (std::vector<std::string_view>{"a", "", "bc"}));
  const TestColumn parsed(kTexts, "columns: 0, type: uint8, default: 9");
  const auto read = dictionary(parsed, plain_texts({"300", "5", ""}), 3);
  EXPECT_EQ(read->bad, (std::vector<uint8_t>{1, 0, 0}));
  EXPECT_EQ(static_cast<int>(read->numbers.data()[1]), 5);
  EXPECT_EQ(static_cast<int>(read->numbers.data()[2]), 9);
}

TEST_F(DictionaryTest, HasNoMoreValuesThanItsBytes) {
  const std::string few = "a dictionary has fewer values than it says";
  const TestColumn numbers(kDoubles, "columns: 0"), texts(kTexts, "columns: 0, type: string");
  EXPECT_NE(error_of([&] { dictionary(numbers, bytes_of_numbers<double>({1, 2}), 3); }).find(few), std::string::npos);
  EXPECT_NE(error_of([&] { dictionary(numbers, "", size_t{1} << 31); }).find(few), std::string::npos);
  EXPECT_NE(error_of([&] { dictionary(texts, plain_texts({"a", "b"}), 3); }).find("damaged"), std::string::npos);
  EXPECT_NE(error_of([&] { dictionary(texts, plain_texts({"a"}), size_t{1} << 31); }).find(few), std::string::npos);
}

}  // namespace
}  // namespace millrace
