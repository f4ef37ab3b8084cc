#include "millrace/core/dates.h"

#include <gtest/gtest.h>

#include "millrace/core/text.h"

namespace millrace {
namespace {

// Counts day by day, as a calendar on the wall does, from a Monday on: 0001-01-01 was one.
TEST(Dates, EveryDayOfTheYears1To9999) {
  int weekday = 0;
  int64_t days = -719162;
  for (int year = 1; year < 10000; ++year) {
    const bool leap = year % 400 == 0 || (year % 4 == 0 && year % 100 != 0);
    int yearday = 1;
    for (int month = 1; month <= 12; ++month) {
      const bool is_short = month == 4 || month == 6 || month == 9 || month == 11;
      const int length = month == 2 ? (leap ? 29 : 28) : is_short ? 30 : 31;
      for (int day = 1; day <= length; ++day, ++days, ++yearday, weekday = (weekday + 1) % 7) {
        ASSERT_EQ(days_since_1970(year, month, day), days) << year << '-' << month << '-' << day;
        const CalendarTime time(days * kSecondsOfDay + day);
        ASSERT_EQ(time.days, days);
        ASSERT_TRUE(time.year == year && time.month == month && time.day == day) << days;
        ASSERT_TRUE(time.yearday == yearday && time.weekday == weekday && time.second == day) << days;
      }
      ASSERT_FALSE(date_of(year, month, length + 1).ok());
      ASSERT_FALSE(date_of(year, month, 0).ok());
    }
    ASSERT_EQ(days_of_year(year), yearday - 1);
  }
  EXPECT_EQ(days, 2932897) << "10000-01-01";
}

TEST(Dates, BeforeTheFirstYearAndBefore1970) {
  const auto text = [](int64_t seconds) {
    const CalendarTime time(seconds);
    return cat(time.year, '-', time.month, '-', time.day, ' ', time.second, ' ', time.weekday);
  };
  EXPECT_EQ(text(0), "1970-1-1 0 3") << "a Thursday";
  EXPECT_EQ(text(-1), "1969-12-31 86399 2");
  EXPECT_EQ(text(-719162 * kSecondsOfDay - 1), "0-12-31 86399 6");
  EXPECT_EQ(text(-719528 * kSecondsOfDay), "0-1-1 0 5");
  EXPECT_EQ(text(-719528 * kSecondsOfDay - 1), "-1-12-31 86399 4");
}

}  // namespace
}  // namespace millrace
