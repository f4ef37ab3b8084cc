#include "millrace/cli/init/column_kind.h"

#include <gtest/gtest.h>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "tests/cli/init/column_testing.h"
#include "tests/support/temp_folder.h"

namespace millrace {
namespace {

// "regression" or "classes a,b", with "as codes".
std::string label_of(const ColumnFacts& facts, const std::string& task = "auto") {
  const LabelChoice label = choose_label(look_at(facts, "y"), task);
  if (!label.classes) return "regression";
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
  EXPECT_EQ(label_of(facts_of({"0", "1"}), "regression"), "regression");
}

TEST(LabelChoiceTest, SaysHowToTakeDoubtfulNumbersOtherwise) {
  const auto why = [](const ColumnFacts& facts) { return choose_label(look_at(facts, "y")).why; };
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
  EXPECT_EQ(choose_label(look_at(facts_of({"Yes", "no", "yes", "yes "}), "y")).notice,
            "\"Yes\", \"yes\" and \"yes \" differ only in letter case or blanks, and stay apart");
  EXPECT_EQ(choose_label(look_at(facts_of({" yes", " no"}), "y")).notice, "");
}

TEST(LabelChoiceTest, DatesAreNeitherAmountsNorClasses) {
  std::vector<std::string> days;
  for (int i = 0; i < 50; ++i) days.push_back(cat("2024-0", 1 + i % 5, "-", 10 + i / 5));
  for (const char* task : {"auto", "regression", "classes"}) {
    for (const size_t rows : {50u, 5000u}) {
      EXPECT_EQ(error_of<DataError>([&] { label_of(facts_of(days, rows), task); }),
                "the label \"y\" holds dates or times, such as \"2024-01-10\", which are neither amounts nor classes; "
                "write the label as a number, such as the days since the first date");
    }
  }
  EXPECT_EQ(label_of(facts_of({"10:30", "12:00"})), "classes 10:30,12:00") << "a few";
}

TEST(LabelChoiceTest, TextsAreClasses) {
  EXPECT_EQ(label_of(facts_of({"none", "-", "null ish"})), "classes -,none,null ish");
  EXPECT_EQ(label_of(facts_of({"a", "", "b", "NA"})), "classes a,b");
  const LabelChoice label = choose_label(look_at(facts_of({"a", "", "b", "NA"}), "y"));
  EXPECT_EQ(label.missing, 50u);
  EXPECT_EQ(label.counts, (std::vector<uint64_t>{25, 25}));
  EXPECT_EQ(label_of(facts_of({std::string(2000, 'x'), "y"})), cat("classes ", std::string(2000, 'x'), ",y"));
}

TEST(LabelChoiceTest, AFewOddTextsAmongAmountsAreRowsWithoutALabel) {
  std::vector<std::string> amounts = numbered("0.", 100);
  amounts[7] = amounts[50] = "n.a.";
  const LabelChoice label = choose_label(look_at(facts_of(amounts), "y"));
  EXPECT_FALSE(label.classes);
  EXPECT_EQ(label.missing, 2u);
  EXPECT_EQ(label.marks, std::vector<std::string>{"n.a."});
  EXPECT_EQ(label.why, "nearly all of its values are numbers; \"n.a.\" counts as missing");
}

TEST(LabelChoiceTest, ALoneTextAmongCodesIsNoClass) {
  std::vector<std::string> codes = {"virginica"};
  for (int i = 0; i < 60; ++i) codes.push_back(cat(i % 3));
  const LabelChoice label = choose_label(look_at(facts_of(codes, codes.size()), "y"));
  EXPECT_EQ(label.texts, (std::vector<std::string>{"0", "1", "2"}));
  EXPECT_TRUE(label.codes);
  EXPECT_EQ(label.marks, std::vector<std::string>{"virginica"});
  EXPECT_EQ(label.missing, 1u);
  EXPECT_EQ(label.why,
            "its values are 3 whole numbers (--task regression takes them for amounts); \"virginica\", which only one "
            "row has, counts as missing");
  EXPECT_EQ(label_of(facts_of(codes, codes.size()), "classes"), "classes 0,1,2 as codes");
  EXPECT_EQ(label_of(facts_of(codes, codes.size()), "regression"), "regression");
  codes.push_back("virginica");
  EXPECT_EQ(label_of(facts_of(codes, codes.size())), "classes 0,1,2,virginica") << "two rows";
  EXPECT_EQ(label_of(facts_of({"0", "1", "many"}, 3)), "classes 0,1,many") << "few rows";
}

TEST(LabelChoiceTest, RefusesWhatCannotBeLearned) {
  const auto error = [](const ColumnFacts& facts, const std::string& task = "auto") {
    return error_of<DataError>([&] { label_of(facts, task); });
  };
  EXPECT_TRUE(error(facts_of({"", "NA"})).starts_with("no row has a label"));
  EXPECT_TRUE(
      error(facts_of({"yes"})).starts_with("the label \"y\" is \"yes\" in every row: there is nothing to learn"));
  EXPECT_TRUE(error(facts_of({"3.5", ""})).starts_with("the label \"y\" is 3.5 in every row that has one"));
  EXPECT_NE(error(facts_of(numbered("t", 300), 300)).find("has 300 different texts to be classes"), std::string::npos);
  EXPECT_NE(error(facts_of(numbered("t", 2000), 2000)).find("has too many different texts to be classes"),
            std::string::npos);
  EXPECT_NE(error(facts_of({"a", "b"}), "regression").find("holds texts, such as \"a\""), std::string::npos);
  EXPECT_NE(error(facts_of(numbered("0.", 100)), "classes").find("different values to be classes"), std::string::npos);
  EXPECT_NE(error(facts_of({"1,5", "2,5"})).find("decimal commas"), std::string::npos);
  EXPECT_NE(error(facts_of({"K\xf6ln", "Bonn"})).find("not UTF-8"), std::string::npos);
  std::vector<std::string> numbers = numbered("", 100);
  numbers[7] = "\xff";
  for (const char* task : {"auto", "regression", "classes"}) {
    EXPECT_NE(error(facts_of(numbers), task).find("not UTF-8"), std::string::npos);
  }
  EXPECT_NE(error(facts_of({"1e250", "2.5e250", "3e250"}), "regression").find("too large"), std::string::npos);
  EXPECT_NE(error(facts_of({"1e-250", "2.5e-250"}), "regression").find("too little"), std::string::npos);
}

TEST(LabelChoiceTest, AmountsThatNoOpReadsAreCalledSo) {
  const auto refused = [](const std::string& before, const std::string& behind, const std::string& how) {
    std::vector<std::string> amounts;
    for (int i = 0; i < 90; ++i) amounts.push_back(cat(before, 100 + i * 7, behind));
    for (const char* task : {"auto", "regression", "classes"}) {
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

}  // namespace
}  // namespace millrace
