// Speed: what the input alone, the step alone and both together reach, and which key makes it faster, tried out.
//
//   SpeedTest test(read_yaml_file("mlp.yaml"));
//   const SpeedReport report = test.run();
//
// What is advised was tried: its gain was measured in turn with the configuration as it is. One thread uses a
// SpeedTest; stop() may be called from any. Nothing is printed, saved or validated.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
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
  Spread step;       // seconds of a step on one batch, again and again
  Spread together;   // with the input
  double noise = 0;  // how much `together` differs from itself within a round, median
  Bottleneck bottleneck = Bottleneck::none;
  std::string op;  // the op that takes most of the input's time, or that the advice is about
  std::vector<OpStatistics> ops;
  Diagnosis diagnosis;           // of a run with both
  std::optional<Advice> advice;  // with the gain that was measured; absent: nothing that was tried is faster
  std::vector<Advice> tried;     // everything, with its gain

  double batch_seconds() const { return static_cast<double>(batch_size) / input_rows_per_second; }
};

struct SpeedOptions {
  int64_t rounds = 3;
  double window_seconds = 0.7;  // how long each training is timed
  int64_t warm_up = 10;
};

class SpeedTest {
 public:
  // Throws as Trainer::from_spec(), and ConfigError where the data can be read only once.
  explicit SpeedTest(const Spec& config, const Catalog& catalog = Catalog::builtin());
  ~SpeedTest();
  SpeedTest(const SpeedTest&) = delete;
  SpeedTest& operator=(const SpeedTest&) = delete;

  // Once. `on_part` hears what is measured next. No value after stop(). Throws what the trainings do, and DataError
  // where there are not enough data for anything to be timed.
  std::optional<SpeedReport> run(const SpeedOptions& options = {},
                                 const std::function<void(std::string_view)>& on_part = {});
  // Ends run() soon. Idempotent.
  void stop() noexcept;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// By how much longer a step takes with the input: input where it at least doubles, step where it adds less than a
// tenth.
Bottleneck bottleneck_of(double step_seconds, double together_seconds);
// What gained most, unless that is less than is worth while, or than the noise.
std::optional<Advice> best_of(const std::vector<Advice>& tried, double noise);

// What is worth trying beside what a diagnosis says: keys of this resolved configuration that decide only how fast it
// is.
std::vector<Advice> worth_trying(const Config& config, const OpRegistry& ops, int threads);

}  // namespace millrace
