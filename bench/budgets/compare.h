// Two ways to do the same, timed in turn, so that whatever else the machine does hits both alike.
#pragma once

#include <vector>

#include "millrace/core/threads/executor.h"

namespace millrace::bench {

// What one run took, by whatever clock is right for it.
using Timed = FunctionRef<double()>;

struct Ratio {
  double median = 0;  // of other / base, a round each
  double noise = 0;   // the median difference of base and base in the same rounds
};

// Runs base, other, base in each of `rounds` rounds, after one that does not count.
Ratio compare(int rounds, Timed base, Timed other);

// The median of `measure` over the rounds, after one that does not count, and the median distance from it as noise.
Ratio median_of(int rounds, Timed measure);

// base / other instead.
inline Ratio inverse(Ratio ratio) { return {1 / ratio.median, ratio.noise}; }

double median(std::vector<double> values);

// Seconds of processor time of this thread, and of all threads of this process, and of a clock on the wall.
double thread_seconds();
double process_seconds();
double wall_seconds();

// What `body` takes by `clock`.
double timed(double (*clock)(), FunctionRef<void()> body);

}  // namespace millrace::bench
