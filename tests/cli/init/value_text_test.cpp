#include "millrace/cli/init/value_text.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

TEST(ValueText, KnowsNumbersThatAreWrittenOtherwise) {
  for (const char* text : {"1,5", "-0,25", "+10,0", "1,234"}) EXPECT_TRUE(has_decimal_comma(text)) << text;
  for (const char* text : {"1.5", ",5", "5,", "1,2,3", "a,b", ""}) EXPECT_FALSE(has_decimal_comma(text)) << text;
  for (const char* text : {"1,234", "12,345.67", "1.234.567", "1.234,5", "1'234'567", "1 234",
                           "1\xe2\x80\xaf"
                           "234,5",
                           "1\xc2\xa0"
                           "234"}) {
    EXPECT_TRUE(has_grouped_digits(text)) << text;
  }
  for (const char* text : {"1.234", "1234", "1,23", "1,2345", "12", "", "12 34", "a 234"})
    EXPECT_FALSE(has_grouped_digits(text)) << text;
}

TEST(ValueText, KnowsNumbersWithUnits) {
  for (const char* text : {"$5", "$1,234.50", "12%", "5 EUR", "5\xe2\x82\xac", "-$5", "\xc2\xa3 1,200",
                           "\xe2\x88\x92"
                           "5.5",
                           "\xe2\x80\x93"
                           "5"})
    EXPECT_TRUE(has_unit(text)) << text;
  for (const char* text : {"5", "-5", "-1,234", "EUR", "$", "5 apples", ""}) EXPECT_FALSE(has_unit(text)) << text;
}

TEST(ValueText, KnowsDatesAndTimes) {
  for (const char* text :
       {"2024-01-31T10:00:00Z", "1/2/99", "2024.12.01", "1949-02", "March 11, 2023", "15-Aug-22", "1/2/2024 10:00 PM"})
    EXPECT_TRUE(looks_like_date(text)) << text;
  for (const char* text : {"1.5", "2024", "1-2", "a-b-c", "2024-13-45", "192.168.0.1", "1949-13", "12-11", "March 11",
                           "15-Foo-2022", "room 2024"}) {
    EXPECT_FALSE(looks_like_date(text)) << text;
  }
}

TEST(ValueText, BlanksAroundATextAreTakenAway) {
  EXPECT_EQ(trimmed(" \ta b "), "a b");
  EXPECT_EQ(trimmed(" "), "");
  EXPECT_EQ(lower_case("A z\xc3\x84"), "a z\xc3\x84");
}

TEST(ValueText, NamesTextsThatDifferInLittle) {
  EXPECT_EQ(alike_texts({"a", "b", ""}), "");
  EXPECT_EQ(alike_texts({"Yes", "no", "yes "}),
            "\"Yes\" and \"yes \" differ only in letter case or blanks, and stay apart");
  EXPECT_EQ(alike_texts({"A", "B", "C", "D", "a", "b", "c", "d"}),
            "\"A\" and \"a\", \"B\" and \"b\", \"C\" and \"c\" and others differ only in letter case or blanks, and "
            "stay apart");
}

}  // namespace
}  // namespace millrace
