// Reads the lines that `trainer train --json` prints, and leaves out what differs from run to run, such as times and
// rates. Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "millrace/core/errors.h"

namespace millrace::cli {

struct TrainingEvent {
  std::string name;       // "step", "validation", "checkpoint", "resume", "done", ..; empty if the line is no event
  int64_t step = 0;       // 0 if it has none
  std::string said = {};  // for a step or a validation: what is the same in every run, as JSON without brackets
};
TrainingEvent read_event(std::string_view line);

// The last event of a training that ended well.
struct DoneEvent {
  std::string weights;
  int64_t steps = 0, rows = 0;
  // Keys and values that are the same in every run.
  std::vector<std::pair<std::string, std::string>> said = {};
};
// Throws InternalError if the line is not such an event.
DoneEvent read_done(const std::string& line);
// The first difference, for example "rows is 70, and 77 if it is killed and resumed"; empty if there is none.
std::string difference(const DoneEvent& one, const DoneEvent& resumed);

// The failure of a training.
struct TrainingFailure {
  std::string line;    // the last line that it printed
  std::string errors;  // what it wrote to standard error
  int code = 0, signal = 0;
};
// Throws the training's own error again. If the line is an event "error", it gives the kind, message, place and hint.
// Otherwise the exit code gives the kind, and standard error is the message.
[[noreturn]] void throw_error_of(const TrainingFailure& failure);

// The part of a log's line that is the same in every run; absent for lines that may differ from run to run.
std::optional<std::string> lasting_part(std::string_view line);

}  // namespace millrace::cli
