// The events of a training as JSON, one line each: start, step, validation, done. Pure functions.
#pragma once

#include <string>

#include "millrace/cli/speed/diagnosis.h"
#include "millrace/cli/text/json_text.h"
#include "millrace/input/graph/pipeline.h"
#include "millrace/trainer/trainer.h"

namespace millrace::cli {

std::string start_event(const StartReport& start);
std::string step_event(const StepReport& step);
std::string validation_event(const ValidationReport& report);
// What else the training says: warnings, rows that were left out, lines of `print`.
std::string log_event(std::string_view text);
std::string done_event(const TrainResult& result, const Diagnosis& diagnosis);

// Adds the key "metrics" with the value {"accuracy":0.81}.
void add_metrics(JsonText& json, const MetricValues& metrics);

// The rows that were left out, for all causes together; bad rows are not among them.
uint64_t dropped_rows(const InputSummary& input);

}  // namespace millrace::cli
