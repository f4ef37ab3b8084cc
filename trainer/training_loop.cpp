#include "millrace/trainer/training_loop.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <utility>

#include "millrace/core/text.h"
#include "millrace/trainer/files/saved_model.h"
#include "millrace/trainer/step/nonfinite.h"

namespace millrace {

namespace {

// The most lines about skipped steps.
constexpr int kSkipsTold = 10;

double seconds_between(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

// The pass of the newest row of the batch, counted from 1.
uint64_t epoch_of(const RowBlock& batch) {
  uint32_t pass = 0;
  for (int64_t row = 0; row < batch.size(); ++row) pass = std::max(pass, batch.id(row).pass);
  return uint64_t{pass} + 1;
}

}  // namespace

TrainingLoop::TrainingLoop(const TrainingLoopArgs& args) : args_(args), trace_(args.context.executor().trace()) {}

TrainResult TrainingLoop::run(const TrainCallbacks& callbacks) {
  begin(callbacks);
  std::string reason = train();
  flush();
  if (steps_done_ > 0) look(nullptr, true);
  return result(std::move(reason));
}

void TrainingLoop::begin(const TrainCallbacks& given) {
  require_first_run();
  begun_ = true;
  callbacks_ = given;
  if (callbacks_.on_start) {
    callbacks_.on_start({.device = args_.context.device().text(),
                         .threads = args_.context.executor().threads(),
                         .parameters = args_.step.model().parameter_count(),
                         .batch_size = args_.delivery.graph().output().batch_size,
                         .steps = args_.config.train.steps,
                         .weight = args_.config.loss.weight});
  }
  args_.step.prepare(args_.delivery.graph().output().batch_size);
  if (args_.validator) args_.validator->prepare();
  started_ = window_began_ = progress_shown_ = Clock::now();
}

void TrainingLoop::require_first_run() const {
  if (begun_) throw CallError("the training has begun already", {}, "make another trainer of the same configuration");
}

const RowBlock* TrainingLoop::next_batch() {
  const Clock::time_point before = Clock::now();
  TraceRange range(trace_, "delivery", "next batch", before);
  const RowBlock* const batch = args_.delivery.next();
  const Clock::time_point end = Clock::now();
  range.end(end);
  waited_ += end - before;
  return batch;
}

void TrainingLoop::train_on(const RowBlock& batch) {
  // A window starts only when its first batch is there. If no batch comes, the result still reports the window before.
  if (std::exchange(window_ended_, false)) args_.step.start_window();
  StepOutcome outcome = StepOutcome::trained;
  try {
    TraceRange range(trace_, "step", "step");
    range.set("step", steps_done_ + 1);
    range.set("rows", batch.size());
    args_.context.executor().run([&] { outcome = args_.step.run(batch); });
  } catch (RowError& error) {
    error.set_place(args_.delivery.place(batch.id(error.row)));
    throw;
  } catch (...) {  // thrown by a kind of a program or a plug-in, or for lack of memory
    std::rethrow_exception(as_error(std::current_exception(), "the step"));
  }
  take_outcome(outcome, &batch);
  if (!warned_of_plain_steps_ && !args_.step.not_recorded().empty()) {
    warned_of_plain_steps_ = true;
    log(cat("warning: steps take longer than they need to, as they cannot be recorded as one: ",
            args_.step.not_recorded()));
  }
  ++steps_done_;
  last_batch_ = batch.size();
  if (args_.validator) last_epoch_ = epoch_of(batch);
  rows_done_ += static_cast<uint64_t>(batch.size());
  if (callbacks_.on_batch) {
    args_.step.model();  // launches the steps that wait, because on_batch may look at the model
    callbacks_.on_batch({.step = steps_done_,
                         .rows = batch.size(),
                         .queued = args_.delivery.queued(),
                         .seconds = seconds_between(started_, Clock::now()),
                         .input = args_.delivery.times()});
  }
  const bool report_now = steps_done_ % args_.config.train.log_every == 0, log_now = callbacks_.on_step && report_now;
  const Clock::time_point now = Clock::now();
  const bool show_now = callbacks_.on_progress && now - progress_shown_ >= kProgressInterval;
  // On a device, looking waits for the device.
  if (log_now || show_now || args_.context.device().is_cpu()) look(&batch, report_now);
  // Done also without on_step, because callbacks must not change the result.
  if (report_now) window_ended_ = true;
  if (!log_now && !show_now) return;
  const TraceRange range(trace_, "step", "report");
  fill_report(batch, now);
  if (log_now) {
    callbacks_.on_step(report_);
    window_began_ = now;
    rows_before_window_ = rows_done_;
    waited_before_window_ = waited_;
  }
  if (show_now) {
    callbacks_.on_progress(report_);
    progress_shown_ = now;
  }
}

void TrainingLoop::take_outcome(StepOutcome outcome, const RowBlock* batch) {
  if (outcome == StepOutcome::trained) return;
  const int64_t number = steps_done_ + (batch != nullptr ? 1 : 0);
  // A gradient of several batches says nothing about the rows of the last one.
  if (outcome == StepOutcome::gradient_not_finite && args_.config.train.accumulate > 1) batch = nullptr;
  const DataError error = not_finite(outcome, number, batch);
  if (args_.config.train.on_nonfinite == OnNonfinite::fail) throw error;
  // A training that diverged may skip every step, so few skips are reported.
  if (skips_told_ == kSkipsTold) return;
  ++skips_told_;
  log(cat("warning: skipped ", error.what()));
  if (skips_told_ == kSkipsTold) log("warning: further skipped steps are counted, but not reported");
}

// Looks for values that are not finite, and reports them once. `batch` is the last batch, or null if its rows are gone.
void TrainingLoop::look(const RowBlock* batch, bool at_optimizer) {
  const OnNonfinite rule = args_.config.train.on_nonfinite;
  if (rule == OnNonfinite::off || warned_of_nonfinite_) return;
  // With fail and skip, the step itself has looked at everything but the optimizer.
  StepOutcome found = rule == OnNonfinite::warn ? args_.step.look() : StepOutcome::trained;
  if (found == StepOutcome::trained && at_optimizer && !args_.step.optimizer_is_finite())
    found = StepOutcome::optimizer_not_finite;
  if (found == StepOutcome::trained) return;
  warned_of_nonfinite_ = true;
  // Devices and optimizers are not checked after every batch, so an earlier batch may be the cause.
  const bool is_of_batch = found == StepOutcome::loss_not_finite ||
                           (found == StepOutcome::state_not_finite && args_.context.device().is_cpu());
  const DataError error = not_finite(found, steps_done_, is_of_batch ? batch : nullptr);
  if (rule == OnNonfinite::fail) throw error;
  log(cat("warning: ", error.what()));
}

// `batch` is the batch of step `number`, or null if its rows are gone, or cannot explain the error.
DataError TrainingLoop::not_finite(StepOutcome what, int64_t number, const RowBlock* batch) const {
  std::vector<std::string> fields;
  for (const NamedSpec& field : args_.step.model().fields()) fields.push_back(field.name);
  fields.push_back(args_.config.loss.label);
  if (!args_.config.loss.weight.empty()) fields.push_back(args_.config.loss.weight);
  return nonfinite_error(
      {.step = number,
       .loss = what == StepOutcome::loss_not_finite ? args_.step.batch_loss() : 0,
       .optimizer = what == StepOutcome::optimizer_not_finite,
       .state = what == StepOutcome::state_not_finite ? args_.step.state_not_finite() : std::string(),
       .batch = batch,
       .fields = fields,
       .place = [this](const RowId& id) { return args_.delivery.place(id); }});
}

// At the end of the training, updates with the batches that no update has followed yet.
void TrainingLoop::flush() {
  StepOutcome outcome = StepOutcome::trained;
  args_.context.executor().run([&] { outcome = args_.step.flush(); });
  take_outcome(outcome, nullptr);
}

void TrainingLoop::fill_report(const RowBlock& batch, Clock::time_point now) {
  report_.step = steps_done_;
  report_.epoch = epoch_of(batch);
  report_.batch_size = batch.size();
  report_.loss = args_.step.loss();
  report_.metrics = args_.step.metrics();
  const double window = std::max(seconds_between(window_began_, now), 1e-9);
  report_.rows_per_s = static_cast<double>(rows_done_ - rows_before_window_) / window;
  report_.input_wait = std::chrono::duration<double>(waited_ - waited_before_window_).count() / window;
  report_.seconds = seconds_between(started_, now);
  report_.done = done();
  report_.groups = args_.step.groups();
}

std::optional<double> TrainingLoop::done() const {
  const std::optional<double> data = args_.delivery.share();
  if (!args_.config.train.steps) return data;
  const double steps = static_cast<double>(steps_done_) / static_cast<double>(*args_.config.train.steps);
  return std::max(steps, data.value_or(0));
}

void TrainingLoop::validate() {
  const Clock::time_point before = Clock::now();
  const TraceRange range(trace_, "step", "validation", before);
  args_.step.model();  // launches the steps that wait, because the validator looks at the model
  const auto report = args_.validator->run(steps_done_, last_epoch_, callbacks_.on_validating);
  if (report) validated_updates_ = args_.step.updates();
  if (report && callbacks_.on_validation) callbacks_.on_validation(*report);
  const Clock::duration took = Clock::now() - before;
  validating_ += took;
  window_began_ += took;  // rates in reports do not include validations
}

// Validates after the last step, or after the update that followed it, unless that was done; then puts back the best
// model if it is kept. A training that was stopped before this validation had ended was stopped, though it made all its
// steps.
void TrainingLoop::end_validation(TrainResult& result) {
  const auto is_due = [this] {
    return steps_done_ > 0 &&
           (args_.validator->validated() != steps_done_ || validated_updates_ != args_.step.updates());
  };
  if (!stopping_.load() && is_due()) validate();
  if (is_due()) result.reason = "stopped";
  if (!args_.config.validation->keep_best) return;
  if (stopping_.load() && args_.validator->has_best() && args_.keep_last) args_.keep_last();
  result.best = args_.validator->put_back_best();
  if (!result.best && args_.validator->validated() >= 0) {
    const std::string watched = args_.config.validation->watched();
    log(cat("warning: no validation gave a number for loss", watched == "loss" ? "" : " and ",
            watched == "loss" ? "" : watched, ": the model is the one of the last step"));
  }
}

TrainResult TrainingLoop::result(std::string reason) {
  TrainResult out;
  out.reason = std::move(reason);
  if (args_.validator) end_validation(out);
  out.steps = steps_done_;
  out.recorded = args_.step.recorded();
  out.skipped_steps = static_cast<int64_t>(args_.step.skipped());
  out.rows = rows_done_;
  out.seconds = seconds_between(started_, Clock::now());
  out.last_batch = last_batch_;
  out.window = args_.config.train.report_over == ReportOver::window;
  out.loss = last_batch_ > 0 ? args_.step.loss() : std::numeric_limits<double>::quiet_NaN();
  if (last_batch_ > 0) out.metrics = args_.step.metrics();
  out.weights = weights_hash(args_.step.model(), args_.context);
  out.input_wait = out.seconds > 0 ? std::chrono::duration<double>(waited_).count() / out.seconds : 0;
  args_.delivery.stop();  // batches that are being made are not needed
  out.input = args_.delivery.summary();
  out.delivery = args_.delivery.statistics();
  out.device = args_.context.device().text();
  out.threads = args_.context.executor().threads();
  out.validation_seconds = std::chrono::duration<double>(validating_).count();
  out.epochs = out.input.passes;
  return out;
}

// Trains to the end, and returns the reason why it ended.
std::string TrainingLoop::train() {
  for (;;) {
    if (validation_is_due()) validate();
    std::string end = reason_to_end();
    border(!end.empty());
    if (!end.empty()) return end;
    if (stopping_.load()) continue;  // the next border is the last one
    const RowBlock* batch = next_batch();
    if (batch == nullptr) {
      border(true);
      if (stopping_.load()) return "stopped";
      if (steps_done_ == 0) {
        throw DataError("the data ended before the first batch, so nothing was trained", {},
                        "check what the files hold and what is left out, or lower batch_size");
      }
      return "end of data";
    }
    train_on(*batch);
  }
}

// The reason to end now; empty if another step follows.
std::string TrainingLoop::reason_to_end() const {
  if (args_.config.train.steps && steps_done_ >= *args_.config.train.steps) return "steps";
  if (args_.validator && args_.validator->gave_up()) return "no improvement";
  return stopping_.load() ? "stopped" : "";
}

void TrainingLoop::border(bool last) {
  if (args_.at_border) may_cut_input_.store(args_.at_border(last));
}

// Whether a validation must follow the last step, and was not done yet, neither here nor before a restore.
bool TrainingLoop::validation_is_due() const {
  if (!args_.validator || steps_done_ == 0 || steps_done_ % args_.config.validation->every != 0) return false;
  return args_.validator->validated() != steps_done_;
}

void TrainingLoop::save(State& state) {
  state.set("steps", static_cast<uint64_t>(steps_done_));
  state.set("rows", rows_done_);
  state.set("last_batch", static_cast<uint64_t>(last_batch_));
  state.set("last_epoch", last_epoch_);
  state.set("validated_updates", validated_updates_);
  state.set("window_ended", window_ended_ ? 1 : 0);
  state.set("skips_told", static_cast<uint64_t>(skips_told_));
  state.set("warned_of_nonfinite", warned_of_nonfinite_ ? 1 : 0);
  state.set("warned_of_plain_steps", warned_of_plain_steps_ ? 1 : 0);
}

void TrainingLoop::restore(const State& state) {
  require_first_run();
  constexpr auto kMost = static_cast<int64_t>(State::kMostCount);
  steps_done_ = state.count("steps", kMost);
  rows_done_ = rows_before_window_ = state.count("rows");
  last_batch_ = state.count("last_batch", kMost);
  last_epoch_ = state.count("last_epoch");
  validated_updates_ = state.count("validated_updates");
  window_ended_ = state.count("window_ended", 1) != 0;
  skips_told_ = state.count("skips_told", kSkipsTold);
  warned_of_nonfinite_ = state.count("warned_of_nonfinite", 1) != 0;
  warned_of_plain_steps_ = state.count("warned_of_plain_steps", 1) != 0;
}

void TrainingLoop::stop() noexcept {
  stopping_.store(true);
  if (may_cut_input_.load()) args_.delivery.stop();
  if (args_.validator != nullptr) args_.validator->stop();
}

void TrainingLoop::log(std::string_view text) const {
  // An op of the input may call this. Without attributed(), an exception of on_log would seem to come from the op.
  if (callbacks_.on_log) attributed("on_log", {}, [&] { callbacks_.on_log(text); });
}

}  // namespace millrace
