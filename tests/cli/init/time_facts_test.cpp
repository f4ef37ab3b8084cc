#include "millrace/cli/init/time_facts.h"

#include <gtest/gtest.h>

#include "millrace/core/text.h"

namespace millrace {
namespace {

TimeFacts facts_of(const std::vector<std::string>& texts) {
  TimeFacts out;
  for (const std::string& text : texts) out.add(text);
  return out;
}

// "date %d/%m/%Y 2023-2024 yearday weekday clock", with what differs, and "?" if it is ambiguous.
std::string said(const std::vector<std::string>& texts) {
  const TimeFacts facts = facts_of(texts);
  if (facts.form() == nullptr) return "nothing";
  const FoundField::Times& times = facts.form()->times;
  return cat(times.dates ? "date " : "timestamp ", times.letters.empty() ? "ISO" : times.letters, ' ', times.first_year,
             '-', times.last_year, times.yeardays ? " yearday" : "", times.weekdays ? " weekday" : "",
             times.clock ? " clock" : "", facts.ambiguous() ? " ?" : "");
}

TEST(TimeFactsTest, FindTheFormThatReadsAllTexts) {
  EXPECT_EQ(said({"2024-01-31", "2023-01-31"}), "date ISO 2023-2024 weekday");
  EXPECT_EQ(said({"20240131", "20240201"}), "date ISO 2024-2024 yearday weekday");
  EXPECT_EQ(said({"2024-01-31T10:00:00Z", "2024-02-07"}), "timestamp ISO 2024-2024 yearday clock");
  EXPECT_EQ(said({"2024-01-31 10:00", "2024-01-31 10:00:00.5"}), "timestamp ISO 2024-2024");
  EXPECT_EQ(said({"1/2/2024", "13/2/2024"}), "date %d/%m/%Y 2024-2024 yearday weekday");
  EXPECT_EQ(said({"1/2/2024", "2/14/2024"}), "date %m/%d/%Y 2024-2024 yearday weekday");
  EXPECT_EQ(said({"09/05/2015 01:30:00 PM", "12/31/2015 11:59:59 AM"}),
            "timestamp %m/%d/%Y %I:%M:%S %p 2015-2015 yearday weekday clock");
  EXPECT_EQ(said({"01.02.2024", "02.01.2024"}), "date %d.%m.%Y 2024-2024 yearday weekday")
      << "nobody writes months first";
  EXPECT_EQ(said({"1949-01", "1950-01"}), "date %Y-%m 1949-1950 weekday");
  EXPECT_EQ(said({"2024-01-31", "2024-01-31"}), "date ISO 2024-2024");
}

TEST(TimeFactsTest, DaysThatMayBeMonthsAreAmbiguous) {
  EXPECT_EQ(said({"1/2/2024", "3/4/2024"}), "date %d/%m/%Y 2024-2024 yearday weekday ?");
  EXPECT_EQ(said({"01-02-2024 10:00", "03-04-2024 11:00"}),
            "timestamp %d-%m-%Y %H:%M 2024-2024 yearday weekday clock ?");
  EXPECT_EQ(said({"13/1/2024", "1/13/2024"}), "nothing") << "both orders";
}

TEST(TimeFactsTest, OtherTextsHaveNoForm) {
  for (const char* text : {"10:30", "1/2/99", "soon", "2024", ""}) EXPECT_EQ(said({text}), "nothing") << text;
  EXPECT_EQ(said({"2024-01-31", "31/12/2024"}), "nothing");
  EXPECT_EQ(facts_of({"x", "2024-01-31"}).form(), nullptr);
  EXPECT_EQ(facts_of({"x", "2024-01-31"}).count(), 2u);
  EXPECT_EQ(TimeFacts().form(), nullptr);
}

TEST(TimeFactsTest, TheMeanIsATextOfTheSameForm) {
  EXPECT_EQ(facts_of({"2024-01-01", "2024-01-04"}).mean_text(), "2024-01-02") << "rounded down";
  EXPECT_EQ(facts_of({"2024-01-01T00:00:00Z", "2024-01-01T00:00:05Z"}).mean_text(), "2024-01-01T00:00:02Z");
  EXPECT_EQ(facts_of({"13.1.2024 10:00", "13.1.2024 10:01"}).mean_text(), "13.01.2024 10:00");
  EXPECT_EQ(facts_of({"1949-01", "1949-04"}).mean_text(), "1949-02");
  EXPECT_EQ(facts_of({"1900-01-01", "1900-01-03"}).mean_text(), "1900-01-02") << "before 1970";
}

}  // namespace
}  // namespace millrace
