// TrainingLoop: batch after batch through the step, until something ends it; with reports and validations on the way.
//
// What TrainingLoopArgs refer to must outlive it. One thread runs it; stop() and log() may be called from any.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/core/context.h"
#include "millrace/trainer/config/config.h"
#include "millrace/trainer/delivery/delivery.h"
#include "millrace/trainer/step/step.h"
#include "millrace/trainer/trainer.h"
#include "millrace/trainer/validation.h"

namespace millrace {

struct TrainingLoopArgs {
  const Config& config;
  Context& context;
  Delivery& delivery;
  TrainStep& step;
  Validation* validator = nullptr;  // with a key `validation`
};

class TrainingLoop {
 public:
  explicit TrainingLoop(const TrainingLoopArgs& args);
  ~TrainingLoop();
  TrainingLoop(const TrainingLoop&) = delete;
  TrainingLoop& operator=(const TrainingLoop&) = delete;

  // Trains to the end; logs `warnings` first. Everything of the result but `saved` is filled in. Once: a second call
  // throws InternalError, also when the first one failed.
  TrainResult run(const TrainCallbacks& callbacks, const std::vector<std::string>& warnings);
  // Steps that are over.
  int64_t steps() const;
  // Ends run() after the step that runs now, or in the middle of a validation. Idempotent.
  void stop() noexcept;
  // To on_log of the callbacks that run() was given; nowhere before.
  void log(std::string_view text) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace millrace
