// What `trainer evaluate` found out, as text and as JSON. Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "millrace/input/transform.h"
#include "millrace/trainer/step/named_metric.h"

namespace millrace::cli {

struct EvaluationResult {
  uint64_t rows = 0;
  uint64_t files = 0;
  double loss = 0;
  MetricValues metrics = {};
  MetricValues in_label_unit = {};             // of these, where the label was normalised, those that have its unit
  std::optional<double> commonest_class = {};  // the share of rows that are of it
  double seconds = 0;
};

// The metrics that have the label's unit, as they are before the label was normalised or mapped; none where it was not.
MetricValues in_label_unit(const MetricValues& metrics, const std::vector<NamedMetric>& kinds,
                           const FieldHistory& label);

// "1000 rows of 4 files in 0.031 s (32258 rows/s)", then "loss 0.43  accuracy 0.81"; and a line where the accuracy is
// no better than that of saying the commonest class of every row.
std::string evaluation_text(const EvaluationResult& result);
// The "evaluation" event, one line.
std::string evaluation_event(const EvaluationResult& result);

}  // namespace millrace::cli
