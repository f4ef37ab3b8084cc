// Times two ways to do the same by turns, so that other work of the machine disturbs both equally.
#pragma once

#include <vector>

#include "millrace/core/threads/executor.h"

namespace millrace::bench {

// Runs once and returns the seconds, by the clock that suits it.
using Timed = FunctionRef<double()>;

struct Ratio {
  double median = 0;  // of other / base over the rounds
  double noise = 0;   // the median difference of base and base in the same rounds
};

// Runs base, other, base in each of `rounds` rounds, after a round that does not count.
Ratio compare(int rounds, Timed base, Timed other);

// The median of `measure` over the rounds, after a round that does not count; the noise is the median distance from it.
Ratio median_of(int rounds, Timed measure);

// Turns other / base into base / other.
inline Ratio inverse(Ratio ratio) { return {1 / ratio.median, ratio.noise}; }

double median(std::vector<double> values);

// Seconds of processor time of this thread; of all threads of this process; and of the wall clock.
double thread_seconds();
double process_seconds();
double wall_seconds();

// The seconds of `body` by `clock`.
double timed(double (*clock)(), FunctionRef<void()> body);

}  // namespace millrace::bench
