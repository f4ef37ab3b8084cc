// The proleptic Gregorian calendar: days since 1970-01-01 as dates, and back. Its rules hold for every year, also
// before they were made in 1582; the year before the year 1 is the year 0. Pure functions.
#pragma once

#include <cstdint>

namespace millrace {

struct Date {
  int64_t year = 1970;
  int month = 1;  // from 1
  int day = 1;    // from 1

  bool operator==(const Date&) const = default;
};

inline constexpr int64_t kSecondsOfDay = 86400;

// The quotient, rounded down. REQUIRES: b > 0.
constexpr int64_t floor_divide(int64_t a, int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

constexpr bool is_leap_year(int64_t year) { return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0); }
constexpr int days_of_year(int64_t year) { return is_leap_year(year) ? 366 : 365; }

// REQUIRES: 1 <= month <= 12.
constexpr int days_of_month(int64_t year, int month) {
  constexpr int kDays[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  return month == 2 && is_leap_year(year) ? 29 : kDays[month - 1];
}

// Both count years from 1 March: then a leap day is the last day of its year, and 400 years always have 146097 days.
// REQUIRES: |year| < 10^12.
constexpr int64_t days_since_1970(const Date& date) {
  const int64_t year = date.year - (date.month <= 2 ? 1 : 0);
  const int64_t era = floor_divide(year, 400), year_of_era = year - 400 * era;
  const int64_t day = (153 * (date.month + (date.month > 2 ? -3 : 9)) + 2) / 5 + date.day - 1;
  return 146097 * era + 365 * year_of_era + year_of_era / 4 - year_of_era / 100 + day - 719468;
}
constexpr Date date_of(int64_t days) {
  const int64_t era = floor_divide(days + 719468, 146097), day_of_era = days + 719468 - 146097 * era;
  const int64_t year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
  const int64_t day = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const int64_t month_of_year = (5 * day + 2) / 153;
  const auto month = static_cast<int>(month_of_year < 10 ? month_of_year + 3 : month_of_year - 9);
  return {.year = year_of_era + 400 * era + (month <= 2 ? 1 : 0),
          .month = month,
          .day = static_cast<int>(day - (153 * month_of_year + 2) / 5 + 1)};
}

// The weekday of a day since 1970-01-01: 0 is Monday, 6 is Sunday.
constexpr int weekday_of(int64_t days) { return static_cast<int>(days + 3 - 7 * floor_divide(days + 3, 7)); }

// From 1.
constexpr int day_of_year(const Date& date) {
  return static_cast<int>(days_since_1970(date) - days_since_1970({.year = date.year})) + 1;
}

}  // namespace millrace
