// Numbers as people read them. Pure functions; independent of the locale.
#pragma once

#include <charconv>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

namespace millrace::cli {

// Losses and metrics: four significant digits ("0.6931", "1.235e-05", "nan").
std::string format_value(double value);
// Rates: from 100 on as whole numbers, below with three significant digits ("12345", "3.25").
std::string format_rate(double per_second);
inline constexpr double kMilliseconds = 1e3;
// A time in milliseconds, with the digits of format_rate().
std::string format_milliseconds(double seconds);
// "3%": a share from 0 to 1 in percent, without decimals; "<1%" if it is more than 0 and would be rounded to 0%.
std::string format_share(double share);
// "0.042 s", "3.1 s", "42 s", "2 min 05 s", "3 h 07 min".
std::string format_seconds(double seconds);
// "512 bytes", "1.5 KiB", "64 MiB".
std::string format_bytes(uint64_t bytes);

// The shortest text that reads back as the same value, in `buffer`: "0.1", "nan", "-inf". REQUIRES: 40 bytes.
template <class T>
std::string_view shortest_text(T value, std::span<char> buffer) {
  if constexpr (std::is_floating_point_v<T>) {
    // The sign of a NaN is no part of its value, but to_chars() would write it.
    if (std::isnan(value)) return "nan";
  }
  const char* end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr;
  return {buffer.data(), static_cast<size_t>(end - buffer.data())};
}

}  // namespace millrace::cli
