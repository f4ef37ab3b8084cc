#include "millrace/cli/text/number_format.h"

#include <fmt/format.h>

#include <array>

namespace millrace::cli {

// The sign of a NaN has no meaning, so it is not shown.
std::string format_value(double value) { return std::isnan(value) ? "nan" : fmt::format("{:.4g}", value); }

std::string format_rate(double per_second) {
  return std::abs(per_second) < 99.95 ? fmt::format("{:.3g}", per_second) : fmt::format("{:.0f}", per_second);
}

std::string format_milliseconds(double seconds) { return format_rate(seconds * kMilliseconds); }

std::string format_share(double share) {
  if (share > 0 && share < 0.005) return "<1%";
  return fmt::format("{:.0f}%", share * 100);
}

std::string format_seconds(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0) return "?";
  if (seconds < 0.9995) return fmt::format("{:.3f} s", seconds);
  if (seconds < 9.95) return fmt::format("{:.1f} s", seconds);
  if (seconds > 1e9) return fmt::format("{:.1g} s", seconds);
  const auto whole = static_cast<int64_t>(std::llround(seconds));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} h {:02} min", whole / 3600, whole % 3600 / 60);
}

std::string format_bytes(uint64_t bytes) {
  if (bytes == 1) return "1 byte";
  if (bytes < 1024) return fmt::format("{} bytes", bytes);
  static constexpr std::array kUnits = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double value = static_cast<double>(bytes) / 1024;
  size_t unit = 0;
  for (; value >= 1023.5 && unit + 1 < kUnits.size(); ++unit) value /= 1024;
  return value < 9.95 ? fmt::format("{:.1f} {}", value, kUnits[unit]) : fmt::format("{:.0f} {}", value, kUnits[unit]);
}

}  // namespace millrace::cli
