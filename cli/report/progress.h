// Progress: says on standard error how a training goes: in one live line on a terminal, else in a log line now and
// then.
//
// While nothing else happens, a thread of its own goes on with the live line, so that a long step or validation shows
// that something goes on. Any thread may call the functions. end() and the destructor wipe the live line, so that the
// next output begins at the left edge.
#pragma once

#include <atomic>
#include <condition_variable>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "millrace/cli/process/terminal.h"
#include "millrace/core/clock.h"
#include "millrace/core/threads/mutex.h"
#include "millrace/trainer/trainer.h"

namespace millrace::cli {

enum class ProgressStyle { none, lines, live };

// The contents of a live line.
struct LiveState {
  std::optional<int64_t> steps = {};                  // in all, if that is known
  std::optional<StepReport> report = {};              // the newest one
  std::optional<ValidationProgress> validation = {};  // the one that runs
  double quiet_seconds = 0;                           // since the newest of these reports
  std::optional<StepReport> first = {};               // the first report of a training that went on from a checkpoint
  bool stopping = false;
};

class Progress {
 public:
  explicit Progress(ProgressStyle style);
  ~Progress() { end(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  ProgressStyle style() const { return style_; }
  void start(const StartReport& start);
  // Writes a log line if the style is `lines`.
  void step(const StepReport& report);
  // These two change the live line if the style is `live`.
  void live(const StepReport& report);
  void validating(const ValidationProgress& progress);
  void validated(const ValidationReport& report);
  void resumed(const ResumeReport& report);
  void saved(const CheckpointReport& report);
  // Writes a line of its own (a warning, a bad row, a line of `print`), even if there is a live line; nothing if the
  // style is `none`.
  void log(std::string_view text);
  // Says that the training ends soon. Writes nothing, as it may be called while a signal is handled.
  void stopping() { stopping_.store(true); }
  // Nothing is written after it.
  void end();

 private:
  void show() MILLRACE_REQUIRES(mutex_);
  void go_on(const std::stop_token& stop);

  const ProgressStyle style_;
  std::atomic<bool> stopping_{false};
  Mutex mutex_;
  LiveState state_ MILLRACE_GUARDED_BY(mutex_);
  std::string weight_ MILLRACE_GUARDED_BY(mutex_);  // StartReport::weight
  bool resumed_ MILLRACE_GUARDED_BY(mutex_) = false;
  Clock::time_point told_ MILLRACE_GUARDED_BY(mutex_);
  StatusLine line_ MILLRACE_GUARDED_BY(mutex_);
  std::condition_variable_any ended_;
  std::jthread thread_;  // of a live line
};

// "step 20  epoch 1  loss 0.6931  accuracy 0.57  12345 rows/s  input wait 3%".
std::string progress_line(const StepReport& report);
// The parts of the live line, the most important ones first: "34%", "1 min 38 s left", "loss 0.6931", "step 20/60", ..
// If nothing was told for a while, one of them says what takes so long, and how long: "long step for 12 s".
std::vector<std::string> live_parts(const LiveState& state);
// "step 200  validation loss 0.43  accuracy 0.81  1000 rows  best"; with "1000 rows weighted by w" if `weight` is w.
std::string validation_line(const ValidationReport& report, std::string_view weight = {});

}  // namespace millrace::cli
