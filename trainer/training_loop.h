// TrainingLoop: gives the step batch after batch, until something ends the training; reports and validates meanwhile.
//
// What TrainingLoopArgs refer to must outlive it. One thread runs it; stop() and log() may be called from any thread.
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

  // Trains to the end; logs `warnings` first. Fills in everything of the result except `saved`. Only once: a second
  // call throws InternalError, also when the first one failed.
  TrainResult run(const TrainCallbacks& callbacks, const std::vector<std::string>& warnings);
  // Steps that have ended.
  int64_t steps() const;
  // Ends run() after the step that runs now, or in the middle of a validation. Idempotent.
  void stop() noexcept;
  // Gives `text` to on_log of the callbacks that run() was given; does nothing before run().
  void log(std::string_view text) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace millrace
