// What trainings say of themselves, in the lines that `trainer train --json` prints: read, and without what differs
// from run to run, such as times and rates. Pure functions.
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
  std::string said = {};  // of a step or a validation: what is the same in every run, as JSON without brackets
};
TrainingEvent read_event(std::string_view line);

// The last event of a training that ended well.
struct DoneEvent {
  std::string weights;
  int64_t steps = 0, rows = 0;
  // Key and value of everything that is the same in every run.
  std::vector<std::pair<std::string, std::string>> said = {};
};
// Throws InternalError if it is not such an event.
DoneEvent read_done(const std::string& line);
// "rows is 70, and 77 if it is killed and resumed": the first difference; empty: there is none.
std::string difference(const DoneEvent& one, const DoneEvent& resumed);

// How a training ended that did not end well.
struct TrainingFailure {
  std::string line;    // the last one that it printed
  std::string errors;  // what it wrote to standard error
  int code = 0, signal = 0;
};
// Throws the error that the line, an event "error", tells of: its kind, message, place and hint. If it is no such
// event, the exit code tells the kind, and the message is what was written to standard error.
[[noreturn]] void throw_error_of(const TrainingFailure& failure);

// The line of a log as it is in every run; absent for lines that a training writes because it was begun again.
std::optional<std::string> lasting_part(std::string_view line);

}  // namespace millrace::cli
