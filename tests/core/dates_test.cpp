#include "millrace/core/dates.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

// Counts day by day, as a calendar on the wall does, from a Monday on: 0001-01-01 was one.
TEST(Dates, EveryDayOfTheYears1To9999) {
  Date date{.year = 1};
  int weekday = 0, day_in_year = 1;
  int64_t days = -719162;
  while (date.year < 10000) {
    ASSERT_EQ(days_since_1970(date), days) << date.year << '-' << date.month << '-' << date.day;
    ASSERT_EQ(date_of(days), date) << days;
    ASSERT_EQ(weekday_of(days), weekday) << days;
    ASSERT_EQ(day_of_year(date), day_in_year) << days;
    const bool leap = date.year % 400 == 0 || (date.year % 4 == 0 && date.year % 100 != 0);
    const bool short_month = date.month == 4 || date.month == 6 || date.month == 9 || date.month == 11;
    const int length = date.month == 2 ? (leap ? 29 : 28) : short_month ? 30 : 31;
    ASSERT_EQ(days_of_month(date.year, date.month), length);
    ++days;
    ++day_in_year;
    weekday = weekday == 6 ? 0 : weekday + 1;
    if (date.day < length) {
      ++date.day;
      continue;
    }
    date.day = 1;
    if (date.month < 12) {
      ++date.month;
      continue;
    }
    ASSERT_EQ(days_of_year(date.year), day_in_year - 1);
    date.month = 1;
    day_in_year = 1;
    ++date.year;
  }
  EXPECT_EQ(days, 2932897) << "10000-01-01";
}

TEST(Dates, KnownDays) {
  EXPECT_EQ(days_since_1970({}), 0);
  EXPECT_EQ(weekday_of(0), 3) << "a Thursday";
  EXPECT_EQ(days_since_1970({.year = 2000, .month = 2, .day = 29}), 11016);
  EXPECT_EQ(days_since_1970({.year = 1582, .month = 10, .day = 15}), -141427) << "the first day of the calendar";
  EXPECT_EQ(date_of(-719163), (Date{.year = 0, .month = 12, .day = 31}));
  EXPECT_EQ(date_of(-719528), (Date{.year = 0}));
  EXPECT_EQ(date_of(-719529), (Date{.year = -1, .month = 12, .day = 31}));
}

TEST(Dates, LeapYears) {
  for (const int year : {2024, 2000, 1600, 4, 0, -4}) EXPECT_TRUE(is_leap_year(year)) << year;
  for (const int year : {2023, 1900, 2100, 1, -1, -100}) EXPECT_FALSE(is_leap_year(year)) << year;
}

TEST(Dates, RoundsDown) {
  EXPECT_EQ(floor_divide(7, 7), 1);
  EXPECT_EQ(floor_divide(6, 7), 0);
  EXPECT_EQ(floor_divide(-1, 7), -1);
  EXPECT_EQ(floor_divide(-7, 7), -1);
  EXPECT_EQ(floor_divide(-8, 7), -2);
}

}  // namespace
}  // namespace millrace
