#include "millrace/cli/init/column_numbers.h"

#include <gtest/gtest.h>

#include "tests/cli/init/column_testing.h"

namespace millrace {
namespace {

TEST(ColumnNumbersTest, MarksAreTextsAndNumbersThatStandForNone) {
  const ColumnNumbers read = numbers_of(facts_of({"-999", " NA", "3", "5", "off"}));
  EXPECT_EQ(read.marks, (std::vector<std::string>{" NA", "-999", "off"}));
  EXPECT_EQ(read.note, "-999 (20 rows) counts as missing; \"off\" counts as missing");
  EXPECT_DOUBLE_EQ(read.numbers.mean, 4);
  EXPECT_DOUBLE_EQ(numbers_of(facts_of({"-999", "-500"})).numbers.min, -999) << "beside a number like it";
  EXPECT_EQ(own_marks(facts_of({"NA", " NA", "-", "3"})), std::vector<std::string>{" NA"});
}

TEST(ColumnNumbersTest, FewTextsAmongNumbers) {
  std::vector<std::string> numbers = numbered("", 100);
  EXPECT_FALSE(mostly_numbers(facts_of(numbers))) << "all of them are";
  numbers[7] = "off";
  EXPECT_TRUE(mostly_numbers(facts_of(numbers)));
  numbers[8] = std::string(1000, 'x');
  EXPECT_EQ(numbers_of(facts_of(numbers)).marks.back(), numbers[8]);
  numbers[8] = std::string(2000, 'x');
  EXPECT_FALSE(mostly_numbers(facts_of(numbers))) << "too long";
  numbers[8] = "\xff";
  EXPECT_FALSE(mostly_numbers(facts_of(numbers))) << "no configuration can hold it";
  EXPECT_FALSE(mostly_numbers(facts_of({"1", "2", "off"})));
  EXPECT_TRUE(mostly_numbers(facts_of({"1", "2", "-"})));
  EXPECT_FALSE(mostly_numbers(facts_of({"1", "-", "--"})));
}

TEST(ColumnNumbersTest, NumbersThatNoOpReads) {
  EXPECT_EQ(odd_numbers(facts_of({"1", "2", "a"})), "");
  EXPECT_EQ(odd_numbers(facts_of({"1", "2", "$3"})), "numbers with units or dashes, such as \"$3\"");
  EXPECT_EQ(odd_numbers(facts_of({"1 234", "2 345"})), "numbers with groups of digits, such as \"1 234\"");
}

TEST(ColumnNumbersTest, WideNumbersNeedMoreThanFloat32) {
  const auto needs = [](const std::vector<std::string>& texts) { return needs_float64(facts_of(texts).numbers); };
  EXPECT_FALSE(needs({"1", "2.5", "1000"}));
  EXPECT_TRUE(needs({"1700000000", "1700000100"}));
  EXPECT_TRUE(needs({"1e35", "2e35"}));
  EXPECT_TRUE(needs({"1e-35", "2e-35"}));
}

}  // namespace
}  // namespace millrace
