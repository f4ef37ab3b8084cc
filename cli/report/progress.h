// Progress: how a training goes, on standard error: one live line on a terminal, else a log line now and then.
//
// One thread uses a Progress. The live line is wiped by clear() and by the destructor, so that what is printed next
// begins at the left edge.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "millrace/trainer/trainer.h"

namespace millrace::cli {

enum class ProgressStyle { none, lines, live };

class Progress {
 public:
  explicit Progress(ProgressStyle style) : style_(style) {}
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  ProgressStyle style() const { return style_; }
  void start(const StartReport& start) { steps_ = start.steps; }
  // A log line, or nothing.
  void step(const StepReport& report);
  // The live line, or nothing.
  void live(const StepReport& report);
  // A line of its own, also beside a live line.
  void validation(const ValidationReport& report);
  // A line of its own: warnings, bad rows, what `print` prints.
  void log(std::string_view text);
  void clear();

 private:
  ProgressStyle style_;
  std::optional<int64_t> steps_;
  bool shown_ = false;
};

// "step 20  epoch 1  loss 0.6931  accuracy 0.57  12345 rows/s  input wait 3%".
std::string progress_line(const StepReport& report);
// The same with "step 20/1000  1 min 38 s left" where the number of steps is known.
std::string live_line(const StepReport& report, std::optional<int64_t> steps);
// "step 200  validation loss 0.43  accuracy 0.81  1000 rows  best".
std::string validation_line(const ValidationReport& report);

}  // namespace millrace::cli
