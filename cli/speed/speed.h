// Speed: how fast the input alone, the step alone and both together are, and which key makes the training faster.
// All advice was tried: the changed and the given configuration ran by turns, and the gain was measured. Nothing is
// printed, saved or validated.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/cli/compare/timed_training.h"
#include "millrace/cli/speed/diagnosis.h"
#include "millrace/core/spec.h"
#include "millrace/trainer/config/catalog.h"

namespace millrace {

struct SpeedReport {
  std::string device;
  int threads = 0;
  int64_t batch_size = 0;
  // The input alone, on all threads.
  double input_rows_per_second = 0, input_bytes_per_second = 0;
  Spread step;       // seconds of a step that uses the same batch again and again
  Spread together;   // seconds of a step with the input
  double noise = 0;  // how much two measurements of `together` in a round differ, as a share, median
  Bottleneck bottleneck = Bottleneck::none;
  std::string op;  // the op that the advice is about, else the one that takes most of the input's time
  std::vector<OpStatistics> ops;
  Diagnosis diagnosis;           // of a run with input and step
  std::optional<Advice> advice;  // with the gain that was measured; absent: nothing that was tried is faster
  std::vector<Advice> tried;     // everything that was tried, with its gain
  // About how many workers like this machine would decode as fast as the step goes; 0: workers would not help; absent:
  // it has some already.
  std::optional<int64_t> workers;

  double batch_seconds() const { return static_cast<double>(batch_size) / input_rows_per_second; }
};

struct SpeedOptions {
  int64_t rounds = 3;
  double window_seconds = 0.7;  // how long each training is timed
  int64_t warm_up = 10;
  std::stop_token stop = {};  // ends the measurement soon
  // Called with a description of the next measurement.
  std::function<void(std::string_view part)> tell = [](std::string_view) {};
};

// The configuration that is measured: it trains without end, and neither validates nor saves. Throws ConfigError.
Spec for_speed(const Spec& config, const Catalog& catalog);

// No value after a stop. Throws as Trainer::from_spec(), what the trainings throw, ConfigError if the data can be read
// only once, and DataError if there are too few data to time anything.
std::optional<SpeedReport> measure_speed(const Spec& config, const Catalog& catalog, const SpeedOptions& options = {});

// The input, if a step takes at least twice as long with it as without; the step, if the input adds less than a tenth
// of the time together.
Bottleneck bottleneck_of(double step_seconds, double together_seconds);
// The advice that gained most, unless the gain is less than kWorthwhileGain, or within the noise.
std::optional<Advice> best_of(const std::vector<Advice>& tried, double noise);

// SpeedReport::workers without workers.
int64_t workers_wanted(const SpeedReport& report);

// Advice that is worth trying in addition to a diagnosis's: keys of this resolved configuration that change only how
// fast it is.
std::vector<Advice> worth_trying(const Config& config, const OpRegistry& ops, int threads);

}  // namespace millrace
