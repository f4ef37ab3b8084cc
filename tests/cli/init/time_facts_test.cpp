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
  EXPECT_EQ(said({"March 11, 2023", "Mar 12, 2023"}), "date %b %d, %Y 2023-2023 yearday weekday");
  EXPECT_EQ(said({"11 mar 2023", "11 April 2023"}), "date %d %b %Y 2023-2023 yearday weekday");
  EXPECT_EQ(said({"15-Aug-2022", "16-Aug-2022"}), "date %d-%b-%Y 2022-2022 yearday weekday");
  EXPECT_EQ(said({"15-Aug-22", "15-Aug-99"}), "date %d-%b-%y 1999-2022 weekday");
  EXPECT_EQ(said({"29/04/20", "01/05/20"}), "date %d/%m/%y 2020-2020 yearday weekday");
  EXPECT_EQ(said({"04/29/20", "05/01/20"}), "date %m/%d/%y 2020-2020 yearday weekday");
  EXPECT_EQ(said({"29.4.20", "1.5.20"}), "date %d.%m.%y 2020-2020 yearday weekday");
  EXPECT_EQ(said({"2024-01-31", "2024-01-31"}), "date ISO 2024-2024");
}

TEST(TimeFactsTest, DaysThatMayBeMonthsAreAmbiguous) {
  EXPECT_EQ(said({"1/2/2024", "3/4/2024"}), "date %d/%m/%Y 2024-2024 yearday weekday ?");
  EXPECT_EQ(said({"01-02-2024 10:00", "03-04-2024 11:00"}),
            "timestamp %d-%m-%Y %H:%M 2024-2024 yearday weekday clock ?");
  EXPECT_EQ(said({"1/2/24", "3/4/24"}), "date %d/%m/%y 2024-2024 yearday weekday ?");
  EXPECT_EQ(said({"13/1/2024", "1/13/2024"}), "nothing") << "both orders";
}

TEST(TimeFactsTest, OtherTextsHaveNoForm) {
  for (const char* text : {"10:30", "1/2/9", "Foo 11, 2023", "soon", "2024", ""})
    EXPECT_EQ(said({text}), "nothing") << text;
  EXPECT_EQ(said({"2024-01-31", "31/12/2024"}), "nothing");
  EXPECT_EQ(facts_of({"x", "2024-01-31"}).form(), nullptr);
  EXPECT_EQ(facts_of({"x", "2024-01-31"}).count(), 2u);
  EXPECT_EQ(TimeFacts().form(), nullptr);
}

// `odd` before, between and after dates that alternate, `dates` of them.
std::vector<std::string> with_odd(const std::vector<std::string>& odd, int dates) {
  std::vector<std::string> out;
  for (int i = 0; i < dates; ++i) {
    if (i % (dates / 2) == 0) out.insert(out.end(), odd.begin(), odd.end());
    out.emplace_back(i % 2 == 0 ? "2024-01-31" : "2023-01-31");
  }
  out.insert(out.end(), odd.begin(), odd.end());
  return out;
}

TEST(TimeFactsTest, AFewOddTextsAreLeft) {
  const std::string dates = "date ISO 2023-2024 weekday";
  const std::vector<std::string> odd = {"2024-02-30", "soon", " soon"};
  EXPECT_EQ(said(with_odd(odd, 180)), dates);
  EXPECT_EQ(said(with_odd(odd, 178)), "nothing") << "more than one in twenty";
  const TimeFacts facts = facts_of(with_odd(odd, 180));
  EXPECT_EQ(facts.form()->odd, odd) << "each once, as it is written";
  EXPECT_EQ(facts.form()->count, 180u);
  EXPECT_EQ(facts.count(), 189u);
  EXPECT_EQ(facts.mean_text(), "2023-08-01");
  EXPECT_EQ(said(with_odd({"1", "2", "3", "4"}, 1000)), "nothing") << "too many";
  EXPECT_EQ(said(with_odd({std::string(64, 'x')}, 100)), dates);
  EXPECT_EQ(said(with_odd({std::string(65, 'x')}, 100)), "nothing") << "too long";
  EXPECT_EQ(said(with_odd({"31/12/2024"}, 100)), dates) << "a date of another form is odd, too";
}

TEST(TimeFactsTest, AnOddTextThatSaysThatTheDayComesFirstIsNoProof) {
  std::vector<std::string> texts(100, "1/2/2024");
  texts.insert(texts.end(), {"13/1/2024", "1/13/2024", "1/14/2024"});
  EXPECT_EQ(said(texts), "nothing") << "most texts may be of both orders";
  texts.insert(texts.end(), {"1/15/2024", "1/16/2024"});
  EXPECT_EQ(said(texts), "date %m/%d/%Y 2024-2024 yearday weekday");
  EXPECT_EQ(facts_of(texts).form()->odd, std::vector<std::string>{"13/1/2024"});
}

TEST(TimeFactsTest, TellsWhetherAFormReadsAText) {
  TimeFacts facts;
  EXPECT_FALSE(facts.add("soon"));
  EXPECT_TRUE(facts.add("2024-01-31"));
  EXPECT_FALSE(facts.add("soon"));
  for (const char* text : {"a", "b", "c"}) EXPECT_FALSE(facts.add(text));
  EXPECT_FALSE(facts.add("2024-01-31")) << "no form is left";
  std::vector<std::string> late(200, "soon");
  late.insert(late.end(), 4000, "2024-01-31");
  EXPECT_EQ(said(late), "date ISO 2024-2024") << "however late the first one comes";
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
