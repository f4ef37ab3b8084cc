// CalendarTime (core/dates.h) as nodes of an ONNX graph. Days and seconds count from the first day of the year 0, so
// that they are not negative.
#pragma once

#include "millrace/core/dates.h"
#include "millrace/core/onnx/onnx_whole.h"

namespace millrace {

inline constexpr int64_t kDaysBefore1970 = -days_since_1970(0);

// REQUIRES: a year from 0 on, a month from 1 to 12.
OnnxWhole onnx_days(const OnnxWhole& year, const OnnxWhole& month, const OnnxWhole& day);

struct OnnxDate {
  explicit OnnxDate(const OnnxWhole& days);
  OnnxWhole year, month, day;  // month and day from 1
  OnnxWhole yearday, weekday;  // from 1; 0 is Monday
};

// 366 or 365.
OnnxWhole days_of_year(const OnnxWhole& year);

}  // namespace millrace
