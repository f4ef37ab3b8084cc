#include "millrace/cli/init/column_facts.h"

#include <gtest/gtest.h>

#include <cmath>

#include "millrace/core/text.h"

namespace millrace {
namespace {

ColumnFacts facts_of(const std::vector<std::string>& texts) {
  ColumnFacts facts;
  TextBudget budget;
  for (const std::string& text : texts) facts.add(text, budget);
  return facts;
}

TEST(ColumnFactsTest, CountsNumbersTextsAndWhatIsMissing) {
  const ColumnFacts facts = facts_of({"1", " 2.5", "", " ", "NA", "?", "red", "1", "nan", "null"});
  EXPECT_EQ(facts.rows, 10u);
  EXPECT_EQ(facts.missing, 6u);
  EXPECT_EQ(facts.numbers.count, 3u);
  EXPECT_DOUBLE_EQ(facts.numbers.mean, 1.5);
  EXPECT_EQ(facts.fractions, 1u);
  EXPECT_EQ(facts.texts, 1u);
  EXPECT_EQ(facts.examples, std::vector<std::string>{"red"});
  EXPECT_EQ(facts.values.size(), 3u);
  EXPECT_EQ(facts.values.at("1"), 2u);
  EXPECT_EQ(facts.marks, (std::vector<std::string>{" ", "NA", "?", "nan", "null"})) << "as they were written";
}

TEST(ColumnFactsTest, OrdinaryTextsAreNotMissing) {
  for (const char* text : {"-", "none", "None", "0", "unknown", "n", "a"}) EXPECT_FALSE(is_missing_mark(text)) << text;
  for (const char* text : {"", "na", "N/A", "NaN", "NULL", "?", "<NA>", "#N/A", ".", "\\N", "#DIV/0!"})
    EXPECT_TRUE(is_missing_mark(text)) << text;
  for (const std::string& text : usual_missing_marks()) EXPECT_TRUE(is_missing_mark(text)) << text;
}

TEST(ColumnFactsTest, MeanAndDeviationAreThoseOfAllNumbersInOnePass) {
  NumberSums sums, first, second;
  const std::vector<double> values = {1e9 + 4, 1e9 + 7, 1e9 + 13, 1e9 + 16};
  for (size_t i = 0; i < values.size(); ++i) {
    sums.add(values[i]);
    (i < 2 ? first : second).add(values[i]);
  }
  EXPECT_DOUBLE_EQ(sums.mean, 1e9 + 10);
  EXPECT_DOUBLE_EQ(sums.deviation(), std::sqrt(22.5));
  first.add(second);
  EXPECT_DOUBLE_EQ(first.mean, sums.mean);
  EXPECT_NEAR(first.deviation(), sums.deviation(), 1e-9);
  EXPECT_EQ(first.min, 1e9 + 4);
  EXPECT_EQ(first.max, 1e9 + 16);
}

TEST(ColumnFactsTest, SentinelsAreCountedApart) {
  const ColumnFacts facts = facts_of({"-999", "3", "-999", "5", "-9"});
  EXPECT_EQ(facts.numbers.count, 3u);
  ASSERT_EQ(facts.sentinels.size(), 1u);
  EXPECT_EQ(facts.sentinels[0].count, 2u);
  EXPECT_EQ(facts.all_numbers().count, 5u);
  EXPECT_EQ(facts.all_numbers().min, -999);
}

TEST(ColumnFactsTest, SeesWhatTextsLookLike) {
  const ColumnFacts facts =
      facts_of({"2024-01-31", "31/12/2024", "10:30", "1,5", "12,345", "$5", "12%", "K\xf6ln", "007"});
  EXPECT_EQ(facts.dates, 3u);
  EXPECT_EQ(facts.decimal_commas, 2u);
  EXPECT_EQ(facts.grouped, 1u);
  EXPECT_EQ(facts.units, 2u);
  EXPECT_EQ(facts.not_utf8, 1u);
  EXPECT_EQ(facts.leading_zeros, 1u);
}

TEST(ColumnFactsTest, LooksAtDatesAndAtNumbersThatMayBeDates) {
  EXPECT_EQ(facts_of({"2024-01-31", " 2024-02-01 ", "NA", "x"}).times.count(), 3u);
  EXPECT_NE(facts_of({"2024-01-31", "2024-02-01"}).times.form(), nullptr);
  EXPECT_NE(facts_of({"20240131", "20240201"}).times.form(), nullptr);
  EXPECT_EQ(facts_of({"20240131", "20240231"}).times.form(), nullptr) << "no day of February";
  std::vector<std::string> texts(40, "20240131");
  texts.insert(texts.end(), {" 20240231", "soon "});
  const ColumnFacts odd = facts_of(texts);
  ASSERT_NE(odd.times.form(), nullptr);
  EXPECT_EQ(odd.times.form()->odd, (std::vector<std::string>{" 20240231", "soon "})) << "as they were written";
  EXPECT_EQ(facts_of({"March 11, 2023", "10:30", "soon"}).dates, 2u);
  EXPECT_EQ(facts_of({"1", "2024", "2024.131", "-2024013"}).times.count(), 0u);
}

// What is said to be missing is missing to the training, too: it reads the marks that were kept.
TEST(ColumnFactsTest, AMarkIsKeptOrNoMark) {
  const std::string wide(20, ' ');
  const ColumnFacts facts = facts_of({"1", wide, "2"});
  EXPECT_EQ(facts.missing, 1u);
  EXPECT_EQ(facts.marks, (std::vector<std::string>{wide}));
  ColumnFacts many;
  TextBudget budget;
  for (size_t i = 1; i <= 40; ++i) many.add(std::string(i, ' '), budget);
  EXPECT_EQ(many.missing, many.marks.size());
  EXPECT_EQ(many.missing + many.texts, 40u);
}

TEST(ColumnFactsTest, SeesNumbersThatCountTheRows) {
  EXPECT_TRUE(facts_of({"5", "6", "7"}).counts);
  EXPECT_FALSE(facts_of({"5", "6", "8"}).counts);
  EXPECT_FALSE(facts_of({"5", "", "6"}).counts);
  EXPECT_FALSE(facts_of({"5.0", "6.0"}).counts);
}

TEST(ColumnFactsTest, MemoryIsBoundedByTheNumberOfTextsTheirLengthAndABudgetForAllColumns) {
  ColumnFacts few({.texts = 3}), brief({.bytes = 4}), first, second;
  TextBudget budget;
  const size_t before = budget.bytes;
  for (const char* text : {"a", "b", "c", "a"}) few.add(text, budget);
  EXPECT_FALSE(few.many);
  EXPECT_LT(budget.bytes, before);
  few.add("d", budget);
  EXPECT_TRUE(few.many);
  EXPECT_TRUE(few.values.empty());
  EXPECT_EQ(budget.bytes, before) << "what it held is given back";
  brief.add("abcde", budget);
  EXPECT_TRUE(brief.many);
  ColumnFacts numbers, texts;
  for (int i = 0; i < 1024; ++i) {
    numbers.add(cat(i), budget);
    texts.add(cat("text ", i), budget);
  }
  EXPECT_TRUE(numbers.many) << "no category of so many is asked for";
  EXPECT_EQ(texts.values.size(), 1024u);
  texts.add("more", budget);
  EXPECT_TRUE(texts.many);
  TextBudget little{300};
  for (int i = 0; i < 50; ++i) {
    first.add("a", little);
    second.add(cat("text ", i), little);
  }
  EXPECT_FALSE(first.many);
  EXPECT_TRUE(second.many);
}

}  // namespace
}  // namespace millrace
