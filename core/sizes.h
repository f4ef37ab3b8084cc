// Arithmetic of sizes: divisions that round up, and sums and products that do not wrap around.
#pragma once

#include <cstddef>

#include "millrace/core/export.h"

namespace millrace {

// value / divisor, rounded up. REQUIRES: value >= 0, divisor > 0.
template <class T>
constexpr T ceil_div(T value, T divisor) {
  return value / divisor + (value % divisor != 0 ? 1 : 0);
}

// a + b and a * b bytes. Throw ShapeError if the result is more than can be counted.
MILLRACE_EXPORT size_t add_bytes(size_t a, size_t b);
MILLRACE_EXPORT size_t multiply_bytes(size_t a, size_t b);

}  // namespace millrace
