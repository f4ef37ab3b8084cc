#include "millrace/cli/report/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <system_error>
#include <utility>

#include "millrace/cli/process/output.h"
#include "millrace/cli/report/result_text.h"
#include "millrace/cli/text/number_format.h"
#include "millrace/cli/text/text_layout.h"
#include "millrace/core/text.h"
#include "millrace/core/utf8.h"

namespace millrace::cli {

namespace {

// The line says so if no report came for longer.
constexpr double kQuietSeconds = 1;
constexpr auto kTick = std::chrono::milliseconds(500);

// "34%"; not 100% before the end.
std::string share_text(double done) { return format_share(done < 1 ? std::min(done, 0.99) : 1); }

// The current work of the training, if it is not one of many steps.
std::string activity(const LiveState& state) {
  std::string out;
  if (state.validation) {
    out = "validation";
    if (state.validation->done) out += ' ' + share_text(*state.validation->done);
  }
  if (state.quiet_seconds < kQuietSeconds) return out;
  if (out.empty()) {
    // The number of the step is not known: reports are at most ten a second.
    const bool finished = state.report && state.report->done && *state.report->done >= 1;
    out = finished ? "finishing" : "long step";
  }
  return cat(out, " for ", format_seconds(state.quiet_seconds));
}

// "1 min 38 s left", if the rest goes as fast as what this run did; empty if that is not known.
std::string time_left(const LiveState& state) {
  const StepReport& report = *state.report;
  if (!report.done || *report.done >= 1) return {};
  const bool resumed = state.first && state.first->done;
  const double done = *report.done - (resumed ? *state.first->done : 0);
  if (done <= 0) return {};
  const double seconds = report.seconds - (resumed ? state.first->seconds : 0);
  const double left = seconds * (1 - *report.done) / done - state.quiet_seconds;
  return (left < 1 ? "<1 s" : format_seconds(left)) + " left";
}

}  // namespace

Progress::Progress(ProgressStyle style) : style_(style), told_(Clock::now()) {
  if (style_ != ProgressStyle::live) return;
  try {
    thread_ = std::jthread([this](const std::stop_token& stop) { go_on(stop); });
  } catch (const std::system_error&) {
    // The line is then as old as the last report.
  }
}

void Progress::end() {
  thread_ = {};  // asks it to stop, and waits
  const MutexLock lock(mutex_);
  line_.clear();
}

void Progress::start(const StartReport& start) {
  const MutexLock lock(mutex_);
  state_.steps = start.steps;
  weight_ = start.weight;
  told_ = Clock::now();
}

void Progress::step(const StepReport& report) {
  if (style_ == ProgressStyle::lines) write_to_stderr(cat(progress_line(report), '\n'));
}

void Progress::live(const StepReport& report) {
  const MutexLock lock(mutex_);
  state_.report = report;
  if (resumed_ && !state_.first) state_.first = report;
  told_ = Clock::now();
  show();
}

void Progress::validating(const ValidationProgress& progress) {
  const MutexLock lock(mutex_);
  state_.validation = progress;
  told_ = Clock::now();
  show();
}

void Progress::validated(const ValidationReport& report) {
  std::string line;
  {
    const MutexLock lock(mutex_);
    state_.validation.reset();
    told_ = Clock::now();
    line = validation_line(report, weight_);
  }
  log(line);
}

void Progress::resumed(const ResumeReport& report) {
  {
    const MutexLock lock(mutex_);
    resumed_ = true;
  }
  log(cat("going on from step ", report.step, " (", report.file, ')'));
}

void Progress::saved(const CheckpointReport& report) { log(cat("step ", report.step, "  checkpoint ", report.file)); }

void Progress::log(std::string_view text) {
  if (style_ == ProgressStyle::none) return;
  const MutexLock lock(mutex_);
  std::string lines = escape_controls(text);
  if (style_ == ProgressStyle::live) lines = folded_for(STDERR_FILENO, std::move(lines));
  line_.write_above(lines);
}

void Progress::show() {
  if (style_ != ProgressStyle::live) return;
  state_.stopping = stopping_.load();
  state_.quiet_seconds = std::chrono::duration<double>(Clock::now() - told_).count();
  line_.overwrite(fitting_parts(live_parts(state_), terminal_width(STDERR_FILENO) - 1));
}

void Progress::go_on(const std::stop_token& stop) {
  const MutexLock lock(mutex_);
  while (!stop.stop_requested()) {
    ended_.wait_for(mutex_, stop, kTick, [] { return false; });
    const double quiet = std::chrono::duration<double>(Clock::now() - told_).count();
    try {
      if (!stop.stop_requested() && (quiet >= kQuietSeconds || stopping_.load())) show();
    } catch (...) {
      // There was no memory: the line is then as old as before.
    }
  }
}

std::string progress_line(const StepReport& report) {
  return fmt::format("step {}  epoch {}  {}  {} rows/s  input wait {}", report.step, report.epoch,
                     loss_text(report.loss, report.metrics), format_rate(report.rows_per_s),
                     format_share(report.input_wait));
}

std::vector<std::string> live_parts(const LiveState& state) {
  std::vector<std::string> out;
  const auto add = [&out](std::string part) {
    if (!part.empty()) out.push_back(std::move(part));
  };
  if (state.stopping) add("stopping");
  if (!state.report) {
    add(activity(state));
    return out;
  }
  const StepReport& report = *state.report;
  if (report.done) add(share_text(*report.done));
  add(activity(state));
  add(time_left(state));
  const std::string step = state.steps ? cat("step ", report.step, '/', *state.steps) : cat("step ", report.step);
  if (!report.done) add(step);
  add(loss_text(report.loss, {}));
  if (report.done) add(step);
  for (const auto& metric : report.metrics) add(cat(metric.first, ' ', format_value(metric.second)));
  add(cat("epoch ", report.epoch));
  add(format_rate(report.rows_per_s) + " rows/s");
  add("input wait " + format_share(report.input_wait));
  return out;
}

std::string validation_line(const ValidationReport& report, std::string_view weight) {
  return cat("step ", report.step, "  validation ", loss_text(report.loss, report.metrics), "  ",
             count_of(static_cast<int64_t>(report.rows), "row"), weight.empty() ? "" : " weighted by ", weight,
             report.best ? "  best" : "");
}

}  // namespace millrace::cli
