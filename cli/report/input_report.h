// What `trainer input` says at its end. Pure functions.
#pragma once

#include <string>

#include "millrace/input/graph/pipeline.h"

namespace millrace::cli {

struct InputResult {
  std::string reason;  // "end of data", "batches" or "stopped"
  InputSummary input;
  double seconds = 0;
};

std::string input_text(const InputResult& result);
// The "done" event, one line.
std::string input_event(const InputResult& result);

}  // namespace millrace::cli
