// CalendarTime: what a calendar and a clock say of a moment, UTC. The Gregorian calendar holds for every year, also
// before it was made in 1582; the year before the year 1 is the year 0. Pure functions.
#pragma once

#include <chrono>
#include <cstdint>

namespace millrace {

inline constexpr int64_t kSecondsOfDay = 86400;

constexpr int days_of_year(int year) { return std::chrono::year(year).is_leap() ? 366 : 365; }
constexpr std::chrono::year_month_day date_of(int year, int month, int day) {
  return std::chrono::year(year) / std::chrono::month(static_cast<unsigned>(month)) /
         std::chrono::day(static_cast<unsigned>(day));
}
// REQUIRES: date_of(year, month, day).ok().
constexpr int64_t days_since_1970(int year, int month = 1, int day = 1) {
  return std::chrono::sys_days(date_of(year, month, day)).time_since_epoch().count();
}

struct CalendarTime {
  // Of a number of seconds since 1970. REQUIRES: a year from -9999 to 9999, or soon after.
  explicit constexpr CalendarTime(int64_t seconds) {
    const auto start = std::chrono::floor<std::chrono::days>(std::chrono::sys_seconds(std::chrono::seconds(seconds)));
    const std::chrono::year_month_day date(start);
    days = start.time_since_epoch().count();
    second = static_cast<int>(seconds - days * kSecondsOfDay);
    year = static_cast<int>(date.year());
    month = static_cast<int>(static_cast<unsigned>(date.month()));
    day = static_cast<int>(static_cast<unsigned>(date.day()));
    yearday = static_cast<int>(days - days_since_1970(year)) + 1;
    weekday = static_cast<int>(std::chrono::weekday(start).iso_encoding()) - 1;
  }

  int64_t days = 0;                  // since 1970-01-01
  int year = 0, month = 0, day = 0;  // month and day from 1
  int yearday = 0, weekday = 0;      // from 1; 0 is Monday, 6 is Sunday
  int second = 0;                    // of the day
};

}  // namespace millrace
