#include "millrace/trainer/training_loop.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <limits>
#include <utility>

#include "millrace/core/clock.h"
#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "millrace/core/threads/executor.h"
#include "millrace/core/trace.h"
#include "millrace/trainer/files/saved_model.h"
#include "millrace/trainer/step/nonfinite.h"

namespace millrace {

namespace {

constexpr auto kProgressInterval = std::chrono::milliseconds(100);
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

struct TrainingLoop::Impl {
  explicit Impl(const TrainingLoopArgs& args)
      : config(args.config),
        context(args.context),
        delivery(args.delivery),
        step(args.step),
        validator(args.validator),
        trace(args.context.executor().trace()) {}

  void begin(const TrainCallbacks& given, const std::vector<std::string>& warnings);
  TrainResult train();
  const RowBlock* next_batch();
  void train_on(const RowBlock& batch);
  void flush();
  void take_outcome(StepOutcome outcome, const RowBlock* batch);
  DataError not_finite(int64_t number, double loss, const RowBlock* batch) const;
  void fill_report(const RowBlock& batch, Clock::time_point now);
  bool validation_is_due() const;
  void validate();
  void end_validation(TrainResult& result);
  TrainResult result(std::string reason);
  void log(std::string_view text) const {
    if (callbacks.on_log) callbacks.on_log(text);
  }

  const Config& config;
  Context& context;
  Delivery& delivery;
  TrainStep& step;
  Validation* const validator;
  Trace* const trace;  // may be null
  std::atomic<bool> stopping{false};

  bool begun = false;
  TrainCallbacks callbacks;  // given to run()

  Clock::time_point started, window_began, progress_shown;
  Clock::duration waited{}, waited_before_window{}, validating{};
  bool warned_of_nonfinite = false, warned_of_plain_steps = false, window_ended = false;
  int skips_told = 0;
  int64_t steps_done = 0;
  uint64_t rows_done = 0, rows_before_window = 0;
  int64_t last_batch = 0;
  uint64_t last_epoch = 0, validated_updates = 0;
  StepReport report;
};

void TrainingLoop::Impl::begin(const TrainCallbacks& given, const std::vector<std::string>& warnings) {
  if (begun) throw InternalError("a trainer runs once", {}, "make another one from the same configuration");
  begun = true;
  callbacks = given;
  if (callbacks.on_start) {
    callbacks.on_start({.device = context.device().text(),
                        .threads = context.executor().threads(),
                        .parameters = step.model().parameter_count(),
                        .batch_size = delivery.graph().output().batch_size,
                        .steps = config.train.steps});
  }
  for (const std::string& warning : warnings) log(cat("warning: ", warning));
  step.prepare(delivery.graph().output().batch_size);
  if (validator) validator->prepare();
  for (const NamedMetric& metric : config.metrics) report.metrics.emplace_back(metric.name, 0.0);
  started = window_began = progress_shown = Clock::now();
}

const RowBlock* TrainingLoop::Impl::next_batch() {
  const Clock::time_point before = Clock::now();
  TraceRange range(trace, "delivery", "next batch", before);
  const RowBlock* const batch = delivery.next();
  const Clock::time_point end = Clock::now();
  range.end(end);
  waited += end - before;
  return batch;
}

void TrainingLoop::Impl::train_on(const RowBlock& batch) {
  // A window starts only when its first batch is there: without one, the result still reports the window before.
  if (std::exchange(window_ended, false)) step.start_window();
  StepOutcome outcome = StepOutcome::trained;
  try {
    TraceRange range(trace, "step", "step");
    range.set("step", steps_done + 1);
    range.set("rows", batch.size());
    context.executor().run([&] { outcome = step.run(batch); });
  } catch (RowError& error) {
    error.set_place(delivery.place(batch.id(error.row)));
    throw;
  } catch (...) {  // from a loss, a metric or an optimizer that is not ours, or for lack of memory
    std::rethrow_exception(as_error(std::current_exception(), "the step"));
  }
  take_outcome(outcome, &batch);
  if (!warned_of_plain_steps && !step.not_recorded().empty()) {
    warned_of_plain_steps = true;
    log(cat("warning: steps take longer than they need to, as they cannot be recorded as one: ", step.not_recorded()));
  }
  ++steps_done;
  last_batch = batch.size();
  if (validator) last_epoch = epoch_of(batch);
  rows_done += static_cast<uint64_t>(batch.size());
  if (callbacks.on_batch) {
    step.model();  // launches what waits, as on_batch may look at the model
    callbacks.on_batch({.step = steps_done,
                        .rows = batch.size(),
                        .queued = delivery.queued(),
                        .seconds = seconds_between(started, Clock::now()),
                        .input = delivery.times()});
  }
  const bool report_now = steps_done % config.train.log_every == 0, log_now = callbacks.on_step && report_now;
  const Clock::time_point now = Clock::now();
  const bool show_now = callbacks.on_progress && now - progress_shown >= kProgressInterval;
  const bool may_warn = config.train.on_nonfinite == OnNonfinite::warn && !warned_of_nonfinite;
  // On any other device than the CPU, looking costs a wait.
  const bool looks = log_now || show_now || context.device().is_cpu();
  if (may_warn && looks) {
    const double loss = step.batch_loss();
    warned_of_nonfinite = !std::isfinite(loss);
    if (warned_of_nonfinite) log(cat("warning: ", not_finite(steps_done, loss, &batch).what()));
  }
  // Also without on_step: callbacks must not change what the result says.
  if (report_now) window_ended = true;
  if (!log_now && !show_now) return;
  const TraceRange range(trace, "step", "report");
  fill_report(batch, now);
  if (log_now) {
    callbacks.on_step(report);
    window_began = now;
    rows_before_window = rows_done;
    waited_before_window = waited;
  }
  if (show_now) {
    callbacks.on_progress(report);
    progress_shown = now;
  }
}

void TrainingLoop::Impl::take_outcome(StepOutcome outcome, const RowBlock* batch) {
  if (outcome == StepOutcome::trained) return;
  const double loss = outcome == StepOutcome::loss_not_finite ? step.batch_loss() : 0;
  const int64_t number = steps_done + (batch != nullptr ? 1 : 0);
  // A gradient of several batches says nothing about the rows of the last one.
  if (outcome == StepOutcome::gradient_not_finite && config.train.accumulate > 1) batch = nullptr;
  const DataError error = not_finite(number, loss, batch);
  if (config.train.on_nonfinite == OnNonfinite::fail) throw error;
  // A training that went astray skips every step.
  if (++skips_told > kSkipsTold) return;
  log(cat("warning: skipped ", error.what()));
  if (skips_told == kSkipsTold) log("warning: further skipped steps are counted, but not reported");
}

// `batch` is the one of step `number`, or null if its rows are gone or say nothing.
DataError TrainingLoop::Impl::not_finite(int64_t number, double loss, const RowBlock* batch) const {
  std::vector<std::string> fields;
  for (const NamedSpec& field : step.model().fields()) fields.push_back(field.name);
  fields.push_back(config.loss.label);
  if (!config.loss.weight.empty()) fields.push_back(config.loss.weight);
  return nonfinite_error(
      {.step = number, .loss = loss, .batch = batch, .fields = fields, .place = [this](const RowId& id) {
         return delivery.place(id);
       }});
}

// At the end of the training, updates with the batches that no update has followed yet.
void TrainingLoop::Impl::flush() {
  StepOutcome outcome = StepOutcome::trained;
  context.executor().run([&] { outcome = step.flush(); });
  take_outcome(outcome, nullptr);
}

void TrainingLoop::Impl::fill_report(const RowBlock& batch, Clock::time_point now) {
  report.step = steps_done;
  report.epoch = epoch_of(batch);
  report.batch_size = batch.size();
  report.loss = step.loss();
  const std::vector<double>& values = step.metrics();
  for (size_t i = 0; i < values.size(); ++i) report.metrics[i].second = values[i];
  const double window = std::max(seconds_between(window_began, now), 1e-9);
  report.rows_per_s = static_cast<double>(rows_done - rows_before_window) / window;
  report.input_wait = std::chrono::duration<double>(waited - waited_before_window).count() / window;
  report.seconds = seconds_between(started, now);
  report.groups = step.groups();
}

bool TrainingLoop::Impl::validation_is_due() const { return validator && steps_done % config.validation->every == 0; }

void TrainingLoop::Impl::validate() {
  const Clock::time_point before = Clock::now();
  const TraceRange range(trace, "step", "validation", before);
  step.model();  // launches what waits, as the validator looks at the model
  const auto done = validator->run(steps_done, last_epoch);
  validated_updates = step.updates();
  if (done && callbacks.on_validation) callbacks.on_validation(*done);
  const Clock::duration took = Clock::now() - before;
  validating += took;
  window_began += took;  // the rates in reports leave validations out
}

// Validates after the last step, or after the update that followed it, unless that was done; then puts back the best
// model if it is kept.
void TrainingLoop::Impl::end_validation(TrainResult& result) {
  const bool up_to_date = validator->validated() == steps_done && validated_updates == step.updates();
  if (!stopping.load() && steps_done > 0 && !up_to_date) validate();
  if (!config.validation->keep_best) return;
  result.best = validator->put_back_best();
  if (!result.best && validator->validated() >= 0) {
    const std::string watched = config.validation->watched();
    log(cat("warning: no validation gave a number for loss", watched == "loss" ? "" : " and ",
            watched == "loss" ? "" : watched, ": the model is the one of the last step"));
  }
}

TrainResult TrainingLoop::Impl::result(std::string reason) {
  TrainResult out;
  if (validator) end_validation(out);
  out.reason = std::move(reason);
  out.steps = steps_done;
  out.recorded = step.recorded();
  out.skipped_steps = static_cast<int64_t>(step.skipped());
  out.rows = rows_done;
  out.seconds = seconds_between(started, Clock::now());
  out.last_batch = last_batch;
  out.window = config.train.report_over == ReportOver::window;
  out.loss = last_batch > 0 ? step.loss() : std::numeric_limits<double>::quiet_NaN();
  if (last_batch > 0) {
    const std::vector<double>& values = step.metrics();
    for (size_t i = 0; i < values.size(); ++i) out.metrics.emplace_back(config.metrics[i].name, values[i]);
  }
  out.weights = weights_hash(step.model(), context);
  out.input_wait = out.seconds > 0 ? std::chrono::duration<double>(waited).count() / out.seconds : 0;
  delivery.stop();  // nobody needs the batches that are being made
  out.input = delivery.summary();
  out.delivery = delivery.statistics();
  out.device = context.device().text();
  out.threads = context.executor().threads();
  out.validation_seconds = std::chrono::duration<double>(validating).count();
  out.epochs = out.input.passes;
  return out;
}

TrainResult TrainingLoop::Impl::train() {
  const auto finished = [&] { return config.train.steps && steps_done >= *config.train.steps; };
  while (!finished() && !stopping.load()) {
    const RowBlock* batch = next_batch();
    if (batch == nullptr) {
      if (stopping.load()) break;
      if (steps_done == 0) log("warning: the data ended before the first batch: nothing was trained");
      flush();
      return result("end of data");
    }
    train_on(*batch);
    if (validation_is_due()) validate();
    if (validator && validator->gave_up() && !finished()) {
      flush();
      return result("no improvement");
    }
  }
  flush();
  return result(finished() ? "steps" : "stopped");
}

TrainingLoop::TrainingLoop(const TrainingLoopArgs& args) : impl_(std::make_unique<Impl>(args)) {}

TrainingLoop::~TrainingLoop() = default;

TrainResult TrainingLoop::run(const TrainCallbacks& callbacks, const std::vector<std::string>& warnings) {
  impl_->begin(callbacks, warnings);
  return impl_->train();
}

int64_t TrainingLoop::steps() const { return impl_->steps_done; }

void TrainingLoop::stop() noexcept {
  impl_->stopping.store(true);
  impl_->delivery.stop();
  if (impl_->validator != nullptr) impl_->validator->stop();
}

void TrainingLoop::log(std::string_view text) const { impl_->log(text); }

}  // namespace millrace
