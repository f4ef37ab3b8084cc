#include "bench/budgets/compare.h"

#include <algorithm>
#include <cmath>
#include <ctime>

namespace millrace::bench {

namespace {

double seconds(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

}  // namespace

double thread_seconds() { return seconds(CLOCK_THREAD_CPUTIME_ID); }
double process_seconds() { return seconds(CLOCK_PROCESS_CPUTIME_ID); }
double wall_seconds() { return seconds(CLOCK_MONOTONIC); }

double timed(double (*clock)(), FunctionRef<void()> body) {
  const double start = clock();
  body();
  return clock() - start;
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

Ratio compare(int rounds, Timed base, Timed other) {
  std::vector<double> ratios, differences;
  for (int round = 0; round <= rounds; ++round) {
    const double before = base(), between = other(), after = base();
    if (round == 0) continue;  // the first round touches memory and makes code for the first time
    ratios.push_back(2 * between / (before + after));
    differences.push_back(std::abs(after / before - 1));
  }
  return {median(ratios), median(differences)};
}

Ratio median_of(int rounds, Timed measure) {
  std::vector<double> values, distances;
  measure();
  for (int round = 0; round < rounds; ++round) values.push_back(measure());
  const double middle = median(values);
  for (const double value : values) distances.push_back(std::abs(value / middle - 1));
  return {middle, median(distances)};
}

}  // namespace millrace::bench
