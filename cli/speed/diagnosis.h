// Diagnosis: which side a training waits for, which op that is, and which key would change it. Pure functions of what a
// run counted anyway.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "millrace/trainer/config/config.h"
#include "millrace/trainer/trainer.h"

namespace millrace {

enum class Bottleneck : uint8_t {
  none,   // neither: they share the processors
  input,  // the step waits for batches, or they take most of the processors' time
  step,
};

template <>
struct EnumNames<Bottleneck> {
  static constexpr std::pair<std::string_view, Bottleneck> kNames[] = {
      {"none", Bottleneck::none}, {"input", Bottleneck::input}, {"step", Bottleneck::step}};
};

// A key of the configuration that decides how fast the training is, and nothing about its result.
struct Advice {
  std::string key;           // "input.shuffle_batch.threads", as --set takes it
  std::string from, to;      // its value, and a better one; `from` is empty where the key is absent
  double expected_gain = 1;  // how many times as fast
  std::string why;           // "one thread decodes while 3 have nothing to do"
};

struct Diagnosis {
  Bottleneck bottleneck = Bottleneck::none;
  std::string op;  // the op of the input that takes the most time, or that the first advice is about
  // Shares of the training's time on the thread that trains; what is left is the step.
  double make_share = 0, wait_share = 0, copy_share = 0;
  double input_share = 0;       // of the processors' time: what the ops took
  double validation_share = 0;  // of the whole run
  std::vector<Advice> advice;   // what gains most first; empty: nothing is worth changing
};

// What a run tells.
struct RunFacts {
  double seconds = 0;  // without validations
  double validation_seconds = 0;
  int64_t steps = 0;
  int threads = 1;     // of the executor
  int processors = 1;  // that the process may use
  bool on_cpu = true;
  DeliveryStatistics delivery;
};

RunFacts facts_of(const TrainResult& result);

// The op that was busy longest; empty without ops.
std::string busiest_op(const std::vector<OpStatistics>& ops);
// The op that an advice is about; none where it is about no op.
std::optional<std::string> op_of(const Advice& advice);

// Less gain than this is no advice.
inline constexpr double kWorthwhileGain = 1.1;
// Of a run that is shorter nothing is advised.
inline constexpr double kTellingSeconds = 0.5;
inline constexpr int64_t kTellingSteps = 20;

// `config` is resolved: every option of every op is there. `ops` knows the kinds of its ops.
Diagnosis diagnose(const Config& config, const OpRegistry& ops, const RunFacts& facts);

}  // namespace millrace
