// The events of a training as JSON, one line each: start, step, validation, done. Pure functions.
#pragma once

#include <string>

#include "millrace/cli/speed/diagnosis.h"
#include "millrace/trainer/trainer.h"

namespace millrace::cli {

struct InputResult;

std::string start_event(const StartReport& start);
std::string step_event(const StepReport& step);
std::string validation_event(const ValidationReport& report);
// What else the training says: warnings, rows that were left out, lines of `print`.
std::string log_event(std::string_view text);
std::string done_event(const TrainResult& result, const Diagnosis& diagnosis);
// What `trainer input` says at its end.
std::string done_event(const InputResult& result);

}  // namespace millrace::cli
