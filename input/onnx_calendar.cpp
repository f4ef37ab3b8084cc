#include "millrace/input/onnx_calendar.h"

namespace millrace {

namespace {

// A calendar repeats after 400 years. Years that begin with March have their leap day at the end, and months of 31 and
// 30 days in a pattern that repeats after five of them, 153 days.
constexpr int64_t kCentury = 36524, kFourCenturies = 146097, kYear = 365, kFourYears = 1461;
constexpr int64_t kFromMarch = 60;  // days from the first of January to the first of March of the year 0
// So that the January of the year 0, which belongs to the year before, is not negative either.
constexpr int64_t kCycle = 400;

// Days before the year.
OnnxWhole first_day(const OnnxWhole& year) {
  return year * kYear + (year + 3) / 4 - (year + 99) / 100 + (year + 399) / 400;
}

// The days before a month of a year that begins with March, its first month being 0.
OnnxWhole days_before_month(const OnnxWhole& month) { return (month * 153 + 2) / 5; }

}  // namespace

OnnxWhole onnx_days(const OnnxWhole& year, const OnnxWhole& month, const OnnxWhole& day) {
  const OnnxWhole from_march = (month + 9) % 12;
  const OnnxWhole years = year + kCycle - from_march.compared("GreaterOrEqual", 10);
  const OnnxWhole leap_days = years / 4 - years / 100 + years / 400;
  return years * kYear + leap_days + days_before_month(from_march) + day - (1 + kFourCenturies - kFromMarch);
}

OnnxDate::OnnxDate(const OnnxWhole& days) : year(days), month(days), day(days), yearday(days), weekday((days + 5) % 7) {
  const OnnxWhole shifted = days + (kFourCenturies - kFromMarch);
  const OnnxWhole cycle = shifted / kFourCenturies;
  const OnnxWhole in_cycle = shifted - cycle * kFourCenturies;
  const OnnxWhole years =
      (in_cycle - in_cycle / (kFourYears - 1) + in_cycle / kCentury - in_cycle / (kFourCenturies - 1)) / kYear;
  const OnnxWhole in_year = in_cycle - (years * kYear + years / 4 - years / 100);
  const OnnxWhole from_march = (in_year * 5 + 2) / 153;
  day = in_year - days_before_month(from_march) + 1;
  month = (from_march + 2) % 12 + 1;
  year = cycle * kCycle + years - kCycle + from_march.compared("GreaterOrEqual", 10);
  yearday = days - first_day(year) + 1;
}

OnnxWhole days_of_year(const OnnxWhole& year) { return first_day(year + 1) - first_day(year); }

}  // namespace millrace
