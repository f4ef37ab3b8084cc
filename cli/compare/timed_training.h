// TimedTraining: a training that is run for its time alone, again and again with this or that changed.
//
//   TimedTraining timed(catalog);
//   const TimedRun run = timed.run(config, {.warm_up = 10});
//
// One thread uses it; stop() may be called from any.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "millrace/core/mutex.h"
#include "millrace/core/spec.h"
#include "millrace/trainer/config/catalog.h"
#include "millrace/trainer/trainer.h"

namespace millrace {

struct TimedOptions {
  int64_t warm_up = 10;  // first steps, which are not timed
  // It ends when the timed steps took so long, and are so many.
  double seconds = std::numeric_limits<double>::infinity();
  int64_t least_steps = 1;
};

struct TimedRun {
  bool stopped = false;  // by stop(); then the rest says nothing
  int64_t steps = 0, timed = 0;
  double seconds = 0;            // of the timed steps
  double processor_seconds = 0;  // of all threads of this process, meanwhile
  DeliveryTimes times;           // of these
  std::vector<int64_t> queued;   // behind each of these
  StartReport start;
  TrainResult result;

  // REQUIRES: timed > 0.
  double step_seconds() const { return seconds / static_cast<double>(timed); }
};

// Of several runs.
struct Spread {
  double median = 0, min = 0, max = 0;

  // REQUIRES: at least one value.
  static Spread of(std::vector<double> values);
};
inline double median_of(std::vector<double> values) { return Spread::of(std::move(values)).median; }

// `config` without what a training does beside its steps: saving, validating.
Spec for_timing(Spec config);

class TimedTraining {
 public:
  // `catalog` outlives it.
  explicit TimedTraining(const Catalog& catalog) : catalog_(catalog) {}

  // Trains by `config` from the beginning. Throws what the training does.
  TimedRun run(const Spec& config, const TimedOptions& options);
  // Ends run() soon, this one and all further ones. Idempotent.
  void stop() noexcept;
  bool stopped() const;

 private:
  class Running;

  const Catalog& catalog_;
  mutable Mutex mutex_;
  Trainer* running_ MILLRACE_GUARDED_BY(mutex_) = nullptr;
  bool stopped_ MILLRACE_GUARDED_BY(mutex_) = false;
};

}  // namespace millrace
