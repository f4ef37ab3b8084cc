#include "millrace/trainer/init/column_kind.h"

#include <gtest/gtest.h>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "tests/support/temp_folder.h"

namespace millrace {
namespace {

// The texts again and again, `rows` of them.
ColumnFacts facts_of(const std::vector<std::string>& texts, size_t rows = 100) {
  ColumnFacts facts({.bytes = 4096});
  TextBudget budget;
  for (size_t i = 0; i < rows; ++i) facts.add(texts[i % texts.size()], budget);
  return facts;
}

std::vector<std::string> numbered(const std::string& before, int count) {
  std::vector<std::string> out;
  for (int i = 0; i < count; ++i) out.push_back(cat(before, (i * 7919) % 10007));
  return out;
}

std::string listed(const std::vector<std::string>& texts) {
  std::string out;
  for (size_t i = 0; i < texts.size(); ++i) out += cat(i > 0 ? "," : "", texts[i]);
  return out;
}

// "number", "category of a,b" or "out: why"; with the note and the marks behind.
std::string kind_of(const ColumnFacts& facts, const std::string& name = "c", bool keep = false) {
  const ColumnChoice choice = choose_kind({.facts = facts, .name = name, .named = true, .keep = keep});
  std::string out = choice.kind == ColumnKind::number     ? "number"
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
  EXPECT_DOUBLE_EQ(choose_kind({.facts = facts, .name = "c"}).numbers.mean, 3.5);
}

TEST(ColumnKindTest, LeavesOutWhatSaysNothingOrIsNoNumber) {
  EXPECT_EQ(kind_of(facts_of({"", "NA"})), "out: empty");
  EXPECT_EQ(kind_of(facts_of({"7"})), "out: every row has \"7\"");
  EXPECT_EQ(kind_of(facts_of({"7", ""})), "out: every row has \"7\", or nothing");
  EXPECT_EQ(kind_of(facts_of({"7", "7.0"})), "out: every number in it is 7");
  EXPECT_EQ(kind_of(facts_of({"yes", ""})), "category of ,yes") << "whether it is there says something";
  EXPECT_EQ(kind_of(facts_of({"2024-01-01", "2024-01-02"})), "out: dates and times");
  EXPECT_EQ(kind_of(facts_of(numbered("text ", 100))), "out: nearly every row has another text");
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
  for (const InitTask task : {InitTask::automatic, InitTask::regression, InitTask::classes}) {
    EXPECT_NE(error_of<DataError>([&] { choose_label(facts_of(numbers), "y", task); }).find("not UTF-8"),
              std::string::npos);
  }
  EXPECT_EQ(kind_of(facts_of({"1e300", "-1e300", "5"})), "out: its numbers are too large");
  EXPECT_EQ(kind_of(facts_of({"inf", "-inf"})), "out: no number in it is finite");
}

TEST(ColumnKindTest, TextsThatDifferInLittleAreNamed) {
  EXPECT_EQ(kind_of(facts_of({"yes", "No", "Yes", "yes "})),
            "category of No,Yes,yes,yes  (\"Yes\", \"yes\" and \"yes \" differ in letter case or blanks alone, and "
            "stay apart)");
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
  EXPECT_NE(error_of<DataError>([] { kind_of(facts_of(numbered("text ", 100)), "c", true); }).find("--keep \"c\""),
            std::string::npos);
}

TEST(ColumnKindTest, AColumnWithoutANameHoldsNamesOfRows) {
  const auto kind = [](const std::vector<std::string>& texts, size_t rows, bool keep = false) {
    const ColumnFacts facts = facts_of(texts, rows);
    return choose_kind({.facts = facts, .name = "column 0", .named = false, .unnamed = true, .keep = keep});
  };
  const std::string reason = "it has no name, and nearly every row has another value";
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
  const ColumnFacts facts = facts_of({"1,500", "2,250"});
  EXPECT_THROW(choose_kind({.facts = facts, .name = "c", .commas_divide = false}), DataError)
      << "where fields end otherwise";
}

// "regression" or "classes a,b", with "as codes".
std::string label_of(const ColumnFacts& facts, InitTask task = InitTask::automatic) {
  const LabelChoice label = choose_label(facts, "y", task);
  if (label.task == InitTask::regression) return "regression";
  return cat("classes ", listed(label.texts), label.codes ? " as codes" : "");
}

TEST(LabelChoiceTest, WholeNumbersOfFewValuesAreClasses) {
  EXPECT_EQ(label_of(facts_of({"0", "1"})), "classes 0,1 as codes");
  EXPECT_EQ(label_of(facts_of({"2", "0", "1"})), "classes 0,1,2 as codes");
  EXPECT_EQ(label_of(facts_of({"1", "2"})), "classes 1,2");
  EXPECT_EQ(label_of(facts_of({"1.0", "0.0", ""})), "classes 0.0,1.0");
  EXPECT_EQ(label_of(facts_of({"-1", "1"})), "classes -1,1");
  EXPECT_EQ(label_of(facts_of({"10", "9", "2"})), "classes 2,9,10") << "in the order of the numbers";
  EXPECT_EQ(label_of(facts_of({"16777217", "16777216"})), "classes 16777216,16777217");
  EXPECT_EQ(label_of(facts_of({"007", "008"})), "classes 007,008");
  EXPECT_EQ(label_of(facts_of({"0.5", "1.5"})), "regression");
  EXPECT_EQ(label_of(facts_of(numbered("", 50))), "regression");
  EXPECT_EQ(label_of(facts_of({"0", "1"}), InitTask::regression), "regression");
}

TEST(LabelChoiceTest, SaysHowToTakeDoubtfulNumbersOtherwise) {
  const auto why = [](const ColumnFacts& facts) { return choose_label(facts, "y", InitTask::automatic).why; };
  EXPECT_EQ(why(facts_of({"3", "4", "5", "6", "7", "8", "9"})),
            "its values are the whole numbers 3 to 9; if they count or grade something, --task regression learns them "
            "as amounts");
  EXPECT_EQ(why(facts_of({"3", "4", "5", "6", "7", "8", "19"})),
            "its values are 7 whole numbers (--task regression takes them for amounts)");
  EXPECT_EQ(why(facts_of(numbered("", 28), 600)),
            "its values are 28 whole numbers (--task classes takes them for classes)");
  EXPECT_EQ(why(facts_of(numbered("", 90), 100)), "its values are numbers");
}

TEST(LabelChoiceTest, ClassesThatDifferInLittleAreNamed) {
  EXPECT_EQ(choose_label(facts_of({"Yes", "no", "yes", "yes "}), "y", InitTask::automatic).notice,
            "\"Yes\", \"yes\" and \"yes \" differ in letter case or blanks alone, and stay apart");
  EXPECT_EQ(choose_label(facts_of({" yes", " no"}), "y", InitTask::automatic).notice, "");
}

TEST(LabelChoiceTest, DatesAreNeitherAmountsNorClasses) {
  std::vector<std::string> days;
  for (int i = 0; i < 50; ++i) days.push_back(cat("2024-0", 1 + i % 5, "-", 10 + i / 5));
  for (const InitTask task : {InitTask::automatic, InitTask::regression, InitTask::classes}) {
    for (const size_t rows : {50, 5000}) {
      EXPECT_EQ(error_of<DataError>([&] { label_of(facts_of(days, rows), task); }),
                "the label \"y\" holds dates or times, such as \"2024-01-10\", which are neither amounts nor classes; "
                "write what is to be predicted as a number, such as the days since the first of them");
    }
  }
  EXPECT_EQ(label_of(facts_of({"10:30", "12:00"})), "classes 10:30,12:00") << "a few";
}

TEST(LabelChoiceTest, TextsAreClasses) {
  EXPECT_EQ(label_of(facts_of({"none", "-", "null ish"})), "classes -,none,null ish");
  EXPECT_EQ(label_of(facts_of({"a", "", "b", "NA"})), "classes a,b");
  const LabelChoice label = choose_label(facts_of({"a", "", "b", "NA"}), "y", InitTask::automatic);
  EXPECT_EQ(label.missing, 50u);
  EXPECT_EQ(label.counts, (std::vector<uint64_t>{25, 25}));
  EXPECT_EQ(label_of(facts_of({std::string(2000, 'x'), "y"})), cat("classes ", std::string(2000, 'x'), ",y"));
}

TEST(LabelChoiceTest, AFewOddTextsAmongAmountsAreRowsWithoutALabel) {
  std::vector<std::string> amounts = numbered("0.", 100);
  amounts[7] = amounts[50] = "n.a.";
  const LabelChoice label = choose_label(facts_of(amounts), "y", InitTask::automatic);
  EXPECT_EQ(label.task, InitTask::regression);
  EXPECT_EQ(label.missing, 2u);
  EXPECT_EQ(label.marks, std::vector<std::string>{"n.a."});
  EXPECT_EQ(label.why, "nearly all of its values are numbers; \"n.a.\" counts as missing");
}

TEST(LabelChoiceTest, ALoneTextAmongCodesIsNoClass) {
  std::vector<std::string> codes = {"virginica"};
  for (int i = 0; i < 60; ++i) codes.push_back(cat(i % 3));
  const LabelChoice label = choose_label(facts_of(codes, codes.size()), "y", InitTask::automatic);
  EXPECT_EQ(label.texts, (std::vector<std::string>{"0", "1", "2"}));
  EXPECT_TRUE(label.codes);
  EXPECT_EQ(label.marks, std::vector<std::string>{"virginica"});
  EXPECT_EQ(label.missing, 1u);
  EXPECT_EQ(label.why,
            "its values are 3 whole numbers (--task regression takes them for amounts); \"virginica\", "
            "which one row has, counts as missing");
  EXPECT_EQ(label_of(facts_of(codes, codes.size()), InitTask::classes), "classes 0,1,2 as codes");
  EXPECT_EQ(label_of(facts_of(codes, codes.size()), InitTask::regression), "regression");
  codes.push_back("virginica");
  EXPECT_EQ(label_of(facts_of(codes, codes.size())), "classes 0,1,2,virginica") << "two rows";
  EXPECT_EQ(label_of(facts_of({"0", "1", "many"}, 3)), "classes 0,1,many") << "few rows";
}

TEST(LabelChoiceTest, RefusesWhatCannotBeLearned) {
  const auto error = [](const ColumnFacts& facts, InitTask task = InitTask::automatic) {
    return error_of<DataError>([&] { label_of(facts, task); });
  };
  EXPECT_TRUE(error(facts_of({"", "NA"})).starts_with("no row has a label"));
  EXPECT_TRUE(
      error(facts_of({"yes"})).starts_with("the label \"y\" is \"yes\" in every row: there is nothing to learn"));
  EXPECT_TRUE(error(facts_of({"3.5", ""})).starts_with("the label \"y\" is 3.5 in every row that has one"));
  EXPECT_NE(error(facts_of(numbered("t", 300), 300)).find("has 300 different texts to be classes"), std::string::npos);
  EXPECT_NE(error(facts_of(numbered("t", 2000), 2000)).find("has too many different texts to be classes"),
            std::string::npos);
  EXPECT_NE(error(facts_of({"a", "b"}), InitTask::regression).find("holds texts, such as \"a\""), std::string::npos);
  EXPECT_NE(error(facts_of(numbered("0.", 100)), InitTask::classes).find("different values to be classes"),
            std::string::npos);
  EXPECT_NE(error(facts_of({"1,5", "2,5"})).find("decimal commas"), std::string::npos);
  EXPECT_NE(error(facts_of({"K\xf6ln", "Bonn"})).find("not UTF-8"), std::string::npos);
  EXPECT_NE(error(facts_of({"1e250", "2.5e250", "3e250"}), InitTask::regression).find("too large"), std::string::npos);
  EXPECT_NE(error(facts_of({"1e-250", "2.5e-250"}), InitTask::regression).find("too little"), std::string::npos);
}

TEST(LabelChoiceTest, AmountsThatNoOpReadsAreCalledSo) {
  const auto refused = [](const std::string& before, const std::string& behind, const std::string& how) {
    std::vector<std::string> amounts;
    for (int i = 0; i < 90; ++i) amounts.push_back(cat(before, 100 + i * 7, behind));
    for (const InitTask task : {InitTask::automatic, InitTask::regression, InitTask::classes}) {
      const std::string error = error_of<DataError>([&] { label_of(facts_of(amounts, 90), task); });
      EXPECT_TRUE(error.starts_with(cat("the label \"y\" holds numbers with ", how, ", such as ",
                                        quote(amounts.front()), ", which no op reads; write them as plain numbers")))
          << error;
    }
  };
  refused("1,", "", "groups of digits");
  refused("$1,", "", "units or dashes");
  refused("$", "", "units or dashes");
  refused("", " USD", "units or dashes");
  refused("", "\xe2\x82\xac", "units or dashes");
  EXPECT_EQ(label_of(facts_of({"$5", "$10"})), "classes $10,$5") << "few of them are names of classes";
}

TEST(LabelChoiceTest, WideNumbersNeedMoreThanFloat32) {
  const auto needs = [](const std::vector<std::string>& texts) { return needs_float64(facts_of(texts).numbers); };
  EXPECT_FALSE(needs({"1", "2.5", "1000"}));
  EXPECT_TRUE(needs({"1700000000", "1700000100"}));
  EXPECT_TRUE(needs({"1e35", "2e35"}));
  EXPECT_TRUE(needs({"1e-35", "2e-35"}));
}

}  // namespace
}  // namespace millrace
