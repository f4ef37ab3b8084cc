// Diagnosis: whether input or step limits a training, which op does, and which key would change it. Pure functions of
// what a run counts anyway.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "millrace/core/context.h"
#include "millrace/trainer/config/config.h"
#include "millrace/trainer/trainer.h"

namespace millrace {

enum class Bottleneck : uint8_t {
  none,   // neither: input and step share the processors
  input,  // the step waits for batches, or they take most of the processors' time
  step,
};

template <>
struct EnumNames<Bottleneck> {
  static constexpr std::pair<std::string_view, Bottleneck> kNames[] = {
      {"none", Bottleneck::none}, {"input", Bottleneck::input}, {"step", Bottleneck::step}};
};

// A key of the configuration that changes how fast the training is, but not its result: no step, no validation and
// nothing that follows from a validation.
struct Advice {
  std::string key;           // "input.shuffle_batch.threads", as --set takes it
  std::string from, to;      // its value, and a better one; `from` is empty if the key is absent
  double expected_gain = 1;  // how many times as fast
  std::string why;           // "one thread decodes while 3 have nothing to do"
};

struct Diagnosis {
  Bottleneck bottleneck = Bottleneck::none;
  std::string serial_op;  // the op that limits the input, because one thread at a time does its work; mostly empty
  std::string op;         // the op of the input that takes the most time, or that the first advice is about
  // Shares of the training's time on the thread that trains; the rest is the step.
  double make_share = 0, wait_share = 0, copy_share = 0;
  double input_share = 0;       // the share of the processors' time that the ops took
  double validation_share = 0;  // of the whole run's time
  std::vector<Advice> advice;   // the largest gain first; empty: nothing is worth changing
};

// The op that was busy longest; empty without ops.
std::string busiest_op(const std::vector<OpStatistics>& ops);
// The op that an advice is about; none if it is not about an op.
std::optional<std::string> op_of(const Advice& advice);

// A change that gains less is not advised.
inline constexpr double kWorthwhileGain = 1.1;
// `config` is resolved: it holds every option of every op. `ops` knows the kinds of its ops. The process may use so
// many `processors`.
Diagnosis diagnose(const Config& config, const OpRegistry& ops, const TrainResult& run,
                   int processors = Executor::available_threads());

}  // namespace millrace
