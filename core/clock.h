// The clock by which ops and streams are timed.
#pragma once

#include <chrono>
#include <cstdint>

namespace millrace {

using Clock = std::chrono::steady_clock;

inline uint64_t nanoseconds_between(Clock::time_point start, Clock::time_point end) {
  return static_cast<uint64_t>(std::chrono::nanoseconds(end - start).count());
}

inline uint64_t nanoseconds_since(Clock::time_point start) { return nanoseconds_between(start, Clock::now()); }

}  // namespace millrace
