// TrainingLoop: gives the step batch after batch, until something ends the training; reports and validates meanwhile.
//
// The objects that TrainingLoopArgs refer to must outlive it. One thread runs it; stop() and log() may be called from
// any thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/core/clock.h"
#include "millrace/core/context.h"
#include "millrace/core/errors.h"
#include "millrace/core/trace.h"
#include "millrace/trainer/config/config.h"
#include "millrace/trainer/delivery/delivery.h"
#include "millrace/trainer/step/step.h"
#include "millrace/trainer/step/training_part.h"
#include "millrace/trainer/trainer.h"
#include "millrace/trainer/validation.h"

namespace millrace {

struct TrainingLoopArgs {
  const Config& config;
  Context& context;
  Delivery& delivery;
  TrainStep& step;
  Validation* validator = nullptr;  // with a key `validation`
  // Called if the training was stopped, before the best model takes the place of the last one (keep_best).
  std::function<void()> keep_last = {};
  // Called between two steps, when the training can be saved, and, with `last`, when no step follows. It returns
  // whether what was learned so far is kept: only then does stop() cut off the making of the next batch. It may call
  // stop(); what it throws ends the training.
  std::function<bool(bool last)> at_border = {};
};

class TrainingLoop final : public TrainingPart {
 public:
  explicit TrainingLoop(const TrainingLoopArgs& args);
  TrainingLoop(const TrainingLoop&) = delete;
  TrainingLoop& operator=(const TrainingLoop&) = delete;

  // Trains to the end. Fills in everything of the result except `saved`. Only once: a second
  // call throws CallError, also when the first one failed.
  TrainResult run(const TrainCallbacks& callbacks);
  // Throws the error of a second run().
  void require_first_run() const;
  int64_t steps() const { return steps_done_; }
  // Ends run() after the step that runs now, or in the middle of a validation. Idempotent.
  void stop() noexcept;
  // Gives `text` to on_log of the callbacks that run() was given; does nothing before run().
  void log(std::string_view text) const;

  // As a TrainingPart it lists nothing. A loop that was restored counts on: steps, rows, lines about skipped steps.
  // Times and rates are this run's.
  void save(State& state) override;
  void restore(const State& state) override;
  void list(std::vector<NamedTensor>&, bool) override {}

 private:
  void begin(const TrainCallbacks& given);
  std::string train();
  std::string reason_to_end() const;
  void border(bool last);
  const RowBlock* next_batch();
  void train_on(const RowBlock& batch);
  void flush();
  void take_outcome(StepOutcome outcome, const RowBlock* batch);
  DataError not_finite(StepOutcome what, int64_t number, const RowBlock* batch) const;
  void look(const RowBlock* batch, bool at_optimizer);
  void fill_report(const RowBlock& batch, Clock::time_point now);
  std::optional<double> done() const;
  bool validation_is_due() const;
  void validate();
  void end_validation(TrainResult& result);
  TrainResult result(std::string reason);

  const TrainingLoopArgs args_;
  Trace* const trace_;  // may be null
  std::atomic<bool> stopping_{false};
  // See TrainingLoopArgs::at_border. stop() sets stopping_ and then reads this flag; the loop sets this flag and then
  // reads stopping_. So either stop() does not cut off the input, or the loop does not ask for another batch.
  std::atomic<bool> may_cut_input_{true};

  bool begun_ = false;
  TrainCallbacks callbacks_;

  Clock::time_point started_, window_began_, progress_shown_;
  Clock::duration waited_{}, waited_before_window_{}, validating_{};
  bool warned_of_nonfinite_ = false, warned_of_plain_steps_ = false, window_ended_ = false;
  int skips_told_ = 0;
  int64_t steps_done_ = 0;
  uint64_t rows_done_ = 0, rows_before_window_ = 0;
  int64_t last_batch_ = 0;
  uint64_t last_epoch_ = 0, validated_updates_ = 0;
  StepReport report_;
};

}  // namespace millrace
