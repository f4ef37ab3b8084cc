// The clock that ops and streams are measured with.
#pragma once

#include <chrono>
#include <cstdint>

namespace millrace {

using Clock = std::chrono::steady_clock;

inline uint64_t nanoseconds_since(Clock::time_point start) {
  return static_cast<uint64_t>(std::chrono::nanoseconds(Clock::now() - start).count());
}

}  // namespace millrace
