// What `trainer convert` did, as text for people and as JSON. Pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "millrace/core/spec.h"
#include "millrace/input/graph/pipeline.h"

namespace millrace::cli {

struct ConvertResult {
  std::string reason = {};              // "end of data" or "stopped"
  uint64_t rows = 0;                    // in the files
  std::vector<std::string> files = {};  // that are there, whole
  InputSummary input = {};
  Spec readers = {};  // the list of ops that reads the files again
  double seconds = 0;
};

// Two lines: rows, files, seconds; what was left out. `how_to_read` is a part of its own, as nothing may fold it.
std::string convert_text(const ConvertResult& result);
// The configuration that reads the files again, with a line above it; empty if the conversion was stopped.
std::string how_to_read(const ConvertResult& result);
// One line.
std::string convert_event(const ConvertResult& result);

}  // namespace millrace::cli
