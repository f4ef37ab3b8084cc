// timed_training(): runs a training only to time it.
#pragma once

#include <cstdint>
#include <ctime>
#include <limits>
#include <optional>
#include <stop_token>
#include <utility>
#include <vector>

#include "millrace/core/spec.h"
#include "millrace/trainer/config/catalog.h"
#include "millrace/trainer/trainer.h"

namespace millrace {

struct TimedOptions {
  int64_t warm_up = 10;  // first steps, which are not timed
  // The training ends when its timed steps took `seconds` and are at least `least_steps`.
  double seconds = std::numeric_limits<double>::infinity();
  int64_t least_steps = 1;
  std::stop_token stop = {};  // ends the training soon
};

struct TimedRun {
  int64_t steps = 0, timed = 0;
  double seconds = 0;            // the time of the timed steps
  double processor_seconds = 0;  // of all threads of this process, during the timed steps
  DeliveryTimes times;           // during the timed steps
  std::vector<int64_t> queued;   // batches in the queue after each timed step
  TrainResult result;

  // REQUIRES: timed > 0.
  double step_seconds() const { return seconds / static_cast<double>(timed); }
};

// The spread of a value over several runs.
struct Spread {
  double median = 0, min = 0, max = 0;

  // REQUIRES: at least one value.
  static Spread of(std::vector<double> values);
};
inline double median_of(std::vector<double> values) { return Spread::of(std::move(values)).median; }

// The processor time by CLOCK_PROCESS_CPUTIME_ID or CLOCK_THREAD_CPUTIME_ID.
double processor_seconds(clockid_t clock);

// `config` without the keys for other work than steps, such as saving and validating.
Spec for_timing(Spec config);

// Trains by `config` from the beginning. No value after a stop. Throws what the training throws.
std::optional<TimedRun> timed_training(const Spec& config, const Catalog& catalog, const TimedOptions& options);

}  // namespace millrace
