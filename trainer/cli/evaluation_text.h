// What `trainer evaluate` found out, as text and as JSON. Pure functions.
#pragma once

#include <cstdint>
#include <string>

#include "millrace/trainer/evaluator.h"

namespace millrace::cli {

struct EvaluationResult {
  uint64_t rows = 0;
  uint64_t files = 0;
  double loss = 0;
  MetricValues metrics = {};
  double seconds = 0;
};

// "1000 rows of 4 files in 0.031 s (32258 rows/s)", then "loss 0.43  accuracy 0.81".
std::string evaluation_text(const EvaluationResult& result);
// The "evaluation" event, one line.
std::string evaluation_event(const EvaluationResult& result);

}  // namespace millrace::cli
