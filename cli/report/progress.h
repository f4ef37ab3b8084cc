// Progress: says on standard error how a training goes: in one live line on a terminal, else in a log line now and
// then.
//
// One thread uses a Progress. clear() and the destructor wipe the live line, so that the next output begins at the left
// edge.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "millrace/cli/process/terminal.h"
#include "millrace/trainer/trainer.h"

namespace millrace::cli {

enum class ProgressStyle { none, lines, live };

class Progress {
 public:
  explicit Progress(ProgressStyle style) : style_(style) {}

  ProgressStyle style() const { return style_; }
  void start(const StartReport& start) {
    steps_ = start.steps;
    weight_ = start.weight;
  }
  // Writes a log line if the style is `lines`.
  void step(const StepReport& report);
  // Writes the live line if the style is `live`.
  void live(const StepReport& report);
  // Writes a line of its own, even if there is a live line; nothing if the style is `none`.
  void validation(const ValidationReport& report);
  // The same for a warning, a bad row, a line of `print`.
  void log(std::string_view text);
  void clear() { line_.clear(); }

 private:
  ProgressStyle style_;
  std::optional<int64_t> steps_;
  std::string weight_;
  StatusLine line_;
};

// "step 20  epoch 1  loss 0.6931  accuracy 0.57  12345 rows/s  input wait 3%"; with "step 20/1000  1 min 38 s left" if
// the number of steps is known.
std::string progress_line(const StepReport& report, std::optional<int64_t> steps = {});
// "step 200  validation loss 0.43  accuracy 0.81  1000 rows  best"; with "1000 rows weighted by w" if `weight` is w.
std::string validation_line(const ValidationReport& report, std::string_view weight = {});

}  // namespace millrace::cli
