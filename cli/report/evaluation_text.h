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
  MetricValues in_label_unit = {};             // what in_label_unit() makes of the metrics
  std::optional<double> commonest_class = {};  // the share of the rows that belong to it
  double seconds = 0;
};

// The metrics that are in the label's unit (or a power of it), converted to the unit that the label had before it was
// normalised or mapped; empty if its unit was not changed.
MetricValues in_label_unit(const MetricValues& metrics, const std::vector<NamedMetric>& kinds,
                           const FieldHistory& label);

// "1000 rows of 4 files in 0.031 s (32258 rows/s)", then "loss 0.43  accuracy 0.81"; and one more line if the model is
// no more accurate than a guess of the commonest class for every row.
std::string evaluation_text(const EvaluationResult& result);
// The "evaluation" event, one line.
std::string evaluation_event(const EvaluationResult& result);

}  // namespace millrace::cli
