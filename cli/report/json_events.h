// The events of commands as JSON, one line each. Pure functions.
#pragma once

#include <cstdint>
#include <string>

#include "millrace/cli/speed/diagnosis.h"
#include "millrace/trainer/trainer.h"

namespace millrace::cli {

struct CheckReport;
struct EvaluationResult;
struct InputResult;

// Rows that were left out, for all causes together, without bad rows.
uint64_t dropped_rows(const InputSummary& input);

std::string start_event(const StartReport& start);
std::string step_event(const StepReport& step);
std::string validation_event(const ValidationReport& report);
std::string resume_event(const ResumeReport& report);
std::string checkpoint_event(const CheckpointReport& report);
// Other lines of the training: warnings, rows that were left out, lines of `print`.
std::string log_event(std::string_view text);
std::string done_event(const TrainResult& result, const Diagnosis& diagnosis);
// The last events of `trainer input`, `trainer evaluate` and `trainer check`; `config`, if given, is the last key.
std::string done_event(const InputResult& result);
std::string evaluation_event(const EvaluationResult& result);
std::string check_event(const CheckReport& report, const Spec* config);

}  // namespace millrace::cli
