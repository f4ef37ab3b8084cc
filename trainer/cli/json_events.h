// The events of a training as JSON, one line each: start, step, done. Pure functions.
#pragma once

#include <string>

#include "millrace/input/graph/pipeline.h"
#include "millrace/trainer/trainer.h"

namespace millrace::cli {

std::string start_event(const StartReport& start);
std::string step_event(const StepReport& step);
std::string done_event(const TrainResult& result);

// Rows left out by name, all causes together; bad rows are counted apart.
uint64_t dropped_rows(const InputSummary& input);

}  // namespace millrace::cli
