#include "millrace/cli/init/column_kind.h"

#include <gtest/gtest.h>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "tests/cli/init/column_testing.h"
#include "tests/support/temp_folder.h"

namespace millrace {
namespace {

// "number", "time", "category of a,b" or "out: why"; with the note and the marks behind.
std::string kind_of(const ColumnFacts& facts, const std::string& name = "c", bool keep = false) {
  const ColumnChoice choice = choose_kind(look_at(facts, name), 0, keep);
  std::string out = choice.kind == ColumnKind::number     ? "number"
                    : choice.kind == ColumnKind::time     ? cat("time about ", choice.mean)
                    : choice.kind == ColumnKind::category ? cat("category of ", listed(choice.texts))
                                                          : cat("out: ", choice.reason);
  if (!choice.marks.empty()) out += cat(" marks ", listed(choice.marks));
  if (!choice.note.empty()) out += cat(" (", choice.note, ')');
  return out;
}

TEST(ColumnKindTest, NumbersAndCategories) {
  EXPECT_EQ(kind_of(facts_of({"1", "2.5", "-3"})), "number");
  EXPECT_EQ(kind_of(facts_of({"1", "2.5", "NA", ""})), "number");
  EXPECT_EQ(kind_of(facts_of({"red", "blue"})), "category of blue,red");
  EXPECT_EQ(kind_of(facts_of({"red", "", "blue", "NA"})), "category of ,blue,red") << "one more for what is missing";
  EXPECT_EQ(kind_of(facts_of({"none", "-", "some"})), "category of -,none,some");
  EXPECT_EQ(kind_of(facts_of({"1", "2", "many"})), "category of 1,2,many");
  EXPECT_EQ(kind_of(facts_of({" ?", " a", " b"})), "category of , a, b marks  ?") << "as they are written";
}

TEST(ColumnKindTest, WhatStandsForNoNumberIsFoundWhereItIsClear) {
  std::vector<std::string> temperatures = numbered("1", 100);
  temperatures[3] = temperatures[50] = "-999";
  EXPECT_EQ(kind_of(facts_of(temperatures)), "number marks -999 (-999 (2 rows) counts as missing)");
  temperatures[50] = "-500";
  EXPECT_EQ(kind_of(facts_of(temperatures)), "number") << "one alone, beside a number like it";
  temperatures[3] = "broken";
  EXPECT_EQ(kind_of(facts_of(temperatures)), "number marks broken (\"broken\" counts as missing)");
  for (size_t i = 60; i < 90; ++i) temperatures[i] = "off";
  EXPECT_EQ(kind_of(facts_of(temperatures)),
            "number marks broken,off (\"broken\" counts as missing; \"off\" counts as missing)");
  EXPECT_EQ(kind_of(facts_of({"1", "2", "3", "-", ".."})),
            "number marks -,.. (\"-\" counts as missing; \"..\" counts as missing)")
      << "few numbers, and texts without letters";
  const ColumnFacts facts = facts_of({"-999", "-999", "3", "4"});
  EXPECT_DOUBLE_EQ(choose_kind(look_at(facts), 0).numbers.mean, 3.5);
}

TEST(ColumnKindTest, LeavesOutWhatSaysNothingOrIsNoNumber) {
  EXPECT_EQ(kind_of(facts_of({"", "NA"})), "out: empty");
  EXPECT_EQ(kind_of(facts_of({"7"})), "out: every row has \"7\"");
  EXPECT_EQ(kind_of(facts_of({"7", ""})), "out: every row has \"7\", or nothing");
  EXPECT_EQ(kind_of(facts_of({"7", "7.0"})), "out: every number in it is 7");
  EXPECT_EQ(kind_of(facts_of({"yes", ""})), "category of ,yes") << "whether it is there says something";
  EXPECT_EQ(kind_of(facts_of(numbered("text ", 100))), "out: nearly every row has a text of its own");
  EXPECT_EQ(kind_of(facts_of(numbered("text ", 142), 600)), "out: 142 different texts, a category has 128 at most");
  EXPECT_EQ(kind_of(facts_of(numbered("text ", 2000), 6000)),
            "out: too many different texts, a category has 128 at most");
  EXPECT_TRUE(kind_of(facts_of(numbered("text ", 128), 600)).starts_with("category of "));
  EXPECT_EQ(kind_of(facts_of({"12%", "13%"})), "out: numbers with units or dashes, such as \"12%\"");
  EXPECT_EQ(kind_of(facts_of({"1,234", "5,678"})), "out: numbers with groups of digits, such as \"1,234\"");
  EXPECT_EQ(kind_of(facts_of({"K\xf6ln", "Bonn"})),
            "out: its texts are not UTF-8 (iconv -f latin1 -t utf8 might help)");
  std::vector<std::string> numbers = numbered("", 100);
  numbers[7] = "\xff";
  EXPECT_EQ(kind_of(facts_of(numbers)), "out: its texts are not UTF-8 (iconv -f latin1 -t utf8 might help)");
  EXPECT_EQ(kind_of(facts_of({"1e300", "-1e300", "5"})), "out: its numbers are too large");
  EXPECT_EQ(kind_of(facts_of({"inf", "-inf"})), "out: no number in it is finite");
}

TEST(ColumnKindTest, DatesOfOneForm) {
  EXPECT_EQ(kind_of(facts_of({"2024-01-01", "2024-01-03"})), "time about 2024-01-02");
  EXPECT_EQ(kind_of(facts_of({"2024-01-01", "", "NA", "2024-01-03"})), "time about 2024-01-02");
  EXPECT_EQ(kind_of(facts_of({"2024-01-01", " ?"})), "out: all its dates are the same");
  EXPECT_EQ(kind_of(facts_of({"2024-01-01", "2024-01-03", " ?"})), "time about 2024-01-01 marks  ?") << "rounded down";
  EXPECT_EQ(kind_of(facts_of({"13.01.2024 10:00", "15.01.2024 10:00"})), "time about 14.01.2024 10:00");
  EXPECT_EQ(kind_of(facts_of({"2024-01-01", "2024-01-03"}), ""), "time about 2024-01-02") << "an index without a name";
  EXPECT_EQ(kind_of(facts_of({"20240101", "20240103"})), "time about 2024-01-02 (its numbers are dates)");
  EXPECT_EQ(kind_of(facts_of({"20240101", "20240103"}, 4)), "number") << "too few to be sure";
  EXPECT_EQ(kind_of(facts_of({"18240101", "18240103"})), "number") << "not of our days";
  EXPECT_EQ(kind_of(facts_of({"2024-01-01", "20240101"})), "out: all its dates are the same");
  EXPECT_EQ(kind_of(facts_of({"1/2/2024", "3/4/2024"})),
            "out: dates such as \"1/2/2024\", none of which tells whether the day or the month comes first");
  EXPECT_EQ(kind_of(facts_of({"10:30", "11:30"})),
            "out: dates or times of no usual form, or of several, such as \"10:30\"");
  EXPECT_EQ(kind_of(facts_of({"13/1/2024", "1/13/2024"})),
            "out: dates or times of no usual form, or of several, such as \"13/1/2024\"");
  EXPECT_EQ(kind_of(facts_of({"March 11, 2023", "March 13, 2023"})), "time about Mar 12, 2023");
  EXPECT_EQ(kind_of(facts_of({"29/04/20", "27/04/68"})),
            "time about 28/04/44 (its years of two digits are taken for 2020 to 2068)");
}

TEST(ColumnKindTest, AFewOddTextsAmongDatesCountAsMissing) {
  std::vector<std::string> odd(99, "2024-01-01");
  odd[3] = "2024-01-03";
  odd.emplace_back("soon");
  EXPECT_EQ(kind_of(facts_of(odd)), "time about 2024-01-01 marks soon (\"soon\" counts as missing)");
  odd[70] = "2024-02-30 ";
  EXPECT_EQ(kind_of(facts_of(odd)),
            "time about 2024-01-01 marks 2024-02-30 ,soon (\"2024-02-30 \" counts as missing; \"soon\" counts as "
            "missing)");
  odd[60] = "7";
  EXPECT_EQ(kind_of(facts_of(odd)), "out: dates, and other values among them") << "a number is no text";
  odd[60] = "\xff";
  EXPECT_EQ(kind_of(facts_of(odd)), "out: its texts are not UTF-8 (iconv -f latin1 -t utf8 might help)");
  for (size_t i = 60; i < 65; ++i) odd[i] = "late";
  EXPECT_EQ(kind_of(facts_of(odd)), "out: dates, and other values among them") << "more than one in twenty";
  std::vector<std::string> numbers = {"20240230"};
  for (int i = 0; i < 99; ++i) numbers.push_back(cat(20240101 + i % 2 * 2));
  EXPECT_EQ(kind_of(facts_of(numbers)),
            "time about 2024-01-01 marks 20240230 (its numbers are dates; \"20240230\" counts as missing)");
  numbers[50] = "late";
  EXPECT_EQ(kind_of(facts_of(numbers)),
            "time about 2024-01-01 marks 20240230,late (its numbers are dates; \"20240230\" counts as missing; "
            "\"late\" counts as missing)");
}

TEST(ColumnKindTest, ManyOddTextsAmongDatesAreTheReason) {
  std::vector<std::string> mixed(12, "0000-00-00");
  for (const int month : {1, 2, 3, 4}) {
    for (int day = 10; day < 22; ++day) mixed.push_back(cat("2024-0", month, '-', day));
  }
  EXPECT_EQ(kind_of(facts_of(mixed, mixed.size())), "out: dates, and other values among them");
}

TEST(ColumnKindTest, TextsBesideADateStayWhatTheyAre) {
  EXPECT_EQ(kind_of(facts_of({"yes", "no", "2024-01-01"})), "category of 2024-01-01,no,yes");
  std::vector<std::string> codes = numbered("5550", 100);
  for (std::string& code : codes) code.resize(8, '9');
  codes[9] = "20240101";
  EXPECT_EQ(kind_of(facts_of(codes)), "number");
  codes[8] = "none";
  EXPECT_EQ(kind_of(facts_of(codes)), "number marks none (\"none\" counts as missing)");
}

TEST(ColumnKindTest, TextsThatDifferInLittleAreNamed) {
  EXPECT_EQ(kind_of(facts_of({"yes", "No", "Yes", "yes "})),
            "category of No,Yes,yes,yes  (\"Yes\", \"yes\" and \"yes \" differ only in letter case or blanks, and stay "
            "apart)");
  EXPECT_EQ(kind_of(facts_of({"", " a", " b"})), "category of , a, b");
}

TEST(ColumnKindTest, Identifiers) {
  const auto counting = [](int first, const std::string& name, bool keep = false) {
    std::vector<std::string> out;
    for (int i = 0; i < 100; ++i) out.push_back(cat(i + first));
    return kind_of(facts_of(out), name, keep);
  };
  EXPECT_EQ(counting(0, "c"), "out: it counts the rows");
  EXPECT_EQ(counting(1, "c"), "out: it counts the rows");
  EXPECT_EQ(counting(1, "c", true), "number") << "--keep";
  EXPECT_EQ(counting(1900, "year"), "number") << "a series of years";
  EXPECT_EQ(counting(892, "PassengerId"), "out: an identifier, by its name");
  std::vector<std::string> few;
  for (int i = 0; i < 12; ++i) few.push_back(cat(i + 501));
  EXPECT_EQ(kind_of(facts_of(few, 12), "key"), "out: it counts the rows");
  EXPECT_EQ(kind_of(facts_of(numbered("", 100)), "user_id"), "out: an identifier, by its name");
  EXPECT_EQ(kind_of(facts_of(numbered("", 100)), "userId"), "out: an identifier, by its name");
  EXPECT_EQ(kind_of(facts_of(numbered("", 100)), "width"), "number");
  EXPECT_EQ(kind_of(facts_of(numbered("", 100)), "humid"), "number");
  EXPECT_EQ(kind_of(facts_of({"1", "2", "3"}), "store_id"),
            "category of 1,2,3 (an identifier of few things is a category)");
  EXPECT_EQ(kind_of(facts_of({"02139", "10001"}), "zip"),
            "category of 02139,10001 (codes with leading zeros are categories)");
  EXPECT_EQ(
      error_of<DataError>([] { kind_of(facts_of(numbered("text ", 100)), "c", true); }),
      "--keep \"c\": no model can read this column: nearly every row has a text of its own; leave it out, or make "
      "numbers or fewer texts of it in the data first");
}

TEST(ColumnKindTest, AColumnWithoutANameHoldsNamesOfRows) {
  const auto kind = [](const std::vector<std::string>& texts, size_t rows, bool keep = false) {
    const ColumnFacts facts = facts_of(texts, rows);
    return choose_kind(look_at(facts, ""), 0, keep);
  };
  const std::string reason = "it has no name, and nearly every row has a value of its own";
  EXPECT_EQ(kind(numbered("", 300), 300).reason, reason) << "in any order";
  EXPECT_EQ(kind(numbered("", 60), 60).reason, reason);
  EXPECT_EQ(kind(numbered("", 5), 5).reason, reason);
  EXPECT_EQ(kind(numbered("row ", 300), 300).reason, reason);
  EXPECT_EQ(kind(numbered("", 300), 300, true).kind, ColumnKind::number) << "--keep";
  EXPECT_EQ(kind(numbered("0.", 300), 300).kind, ColumnKind::number) << "no row is called so";
  EXPECT_EQ(kind({"1", "2", "3"}, 300).kind, ColumnKind::number);
  EXPECT_EQ(kind({"oak", "fir"}, 300).kind, ColumnKind::category);
}

TEST(ColumnKindTest, DecimalCommasAreAnErrorAndNotLeftOutInSilence) {
  const std::string error = error_of<DataError>([] { kind_of(facts_of({"1,5", "2,25"}), "price"); });
  EXPECT_TRUE(
      error.starts_with("the column \"price\" holds numbers with decimal commas, such as \"1,5\", which no op reads"))
      << error;
  DataLook look = look_at(facts_of({"1,500", "2,250"}));
  look.form.delimiter = ';';
  EXPECT_THROW(choose_kind(look, 0), DataError) << "where fields end otherwise";
}

TEST(ColumnNumbersTest, MarksAreTextsAndNumbersThatStandForNone) {
  const ColumnChoice read = numbers_of(facts_of({"-999", " NA", "3", "5", "off"}));
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

}  // namespace
}  // namespace millrace
