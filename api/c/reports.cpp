#include "millrace/api/c/reports.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <limits>
#include <string>
#include <string_view>

namespace millrace::c {

namespace {

std::vector<const char*> pointers(const std::vector<std::string>& texts) {
  std::vector<const char*> out;
  for (const std::string& text : texts) out.push_back(text.c_str());
  return out;
}

std::function<void(const StepReport&)> step_callback(void (*call)(void*, const millrace_step*), void* user) {
  if (call == nullptr) return {};
  return [call, user](const StepReport& report) {
    const std::vector<millrace_score> scores = scores_of(report.metrics);
    const millrace_step step = {.step = report.step,
                                .epoch = report.epoch,
                                .batch_size = report.batch_size,
                                .loss = report.loss,
                                .rows_per_s = report.rows_per_s,
                                .input_wait = report.input_wait,
                                .seconds = report.seconds,
                                .done = report.done.value_or(std::numeric_limits<double>::quiet_NaN()),
                                .scores = scores.data(),
                                .score_count = scores.size()};
    call(user, &step);
  };
}

}  // namespace

std::vector<millrace_score> scores_of(const MetricValues& values) {
  std::vector<millrace_score> out;
  for (const auto& [name, value] : values) out.push_back({name.c_str(), value});
  return out;
}

TrainCallbacks callbacks_of(const millrace_callbacks* given) {
  TrainCallbacks out;
  if (given == nullptr) return out;
  millrace_callbacks callbacks = {};
  std::memcpy(&callbacks, given, std::min(given->size, sizeof callbacks));
  void* const user = callbacks.user;
  out.on_step = step_callback(callbacks.on_step, user);
  out.on_progress = step_callback(callbacks.on_progress, user);
  if (const auto on_log = callbacks.on_log) {
    out.on_log = [on_log, user](std::string_view text) { on_log(user, std::string(text).c_str()); };
  }
  if (const auto on_validation = callbacks.on_validation) {
    out.on_validation = [on_validation, user](const ValidationReport& report) {
      const std::vector<millrace_score> scores = scores_of(report.metrics);
      const millrace_validation validation = {report.step,         report.rows,   report.loss,
                                              report.best ? 1 : 0, scores.data(), scores.size()};
      on_validation(user, &validation);
    };
  }
  if (const auto on_resume = callbacks.on_resume) {
    out.on_resume = [on_resume, user](const ResumeReport& report) {
      const std::vector<const char*> notes = pointers(report.notes), warnings = pointers(report.warnings);
      const millrace_resume resume = {report.step,  report.file.c_str(), notes.data(),
                                      notes.size(), warnings.data(),     warnings.size()};
      on_resume(user, &resume);
    };
  }
  if (const auto on_checkpoint = callbacks.on_checkpoint) {
    out.on_checkpoint = [on_checkpoint, user](const CheckpointReport& report) {
      const millrace_checkpoint checkpoint = {report.step, report.file.c_str()};
      on_checkpoint(user, &checkpoint);
    };
  }
  return out;
}

}  // namespace millrace::c
