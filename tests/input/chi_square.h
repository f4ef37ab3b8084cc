// Chi-square tests, with bounds that are computed.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

namespace millrace::testing_support {

// The probability that a chi-square variable of `freedom` degrees is above `x`: the upper incomplete gamma function at
// (freedom / 2, x / 2), one minus its power series.
inline double above(double x, double freedom) {
  const double a = freedom / 2, half = x / 2;
  double term = 1 / a, sum = term;
  for (double n = a + 1; term > 1e-16 * sum; ++n) {
    term *= half / n;
    sum += term;
  }
  return 1 - sum * std::exp(a * std::log(half) - half - std::lgamma(a));
}

// What a chi-square variable exceeds once in a million times.
inline double bound(double freedom) {
  double low = freedom, high = 100 * freedom;
  for (int step = 0; step < 100; ++step) {
    const double middle = (low + high) / 2;
    (above(middle, freedom) > 1e-6 ? low : high) = middle;
  }
  return high;
}

// Of counts that are as likely.
inline double chi_square(const std::vector<int64_t>& counts) {
  double sum = 0, out = 0;
  for (const int64_t count : counts) sum += static_cast<double>(count);
  const double expected = sum / static_cast<double>(counts.size());
  for (const int64_t count : counts) out += std::pow(static_cast<double>(count) - expected, 2) / expected;
  return out;
}

}  // namespace millrace::testing_support
