// The names of months in texts of dates.
#pragma once

#include <string_view>

namespace millrace {

inline constexpr std::string_view kMonthNames[] = {"January",   "February", "March",    "April",
                                                   "May",       "June",     "July",     "August",
                                                   "September", "October",  "November", "December"};

}  // namespace millrace
