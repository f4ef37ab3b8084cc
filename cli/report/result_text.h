// The texts of commands at their end, for people. Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/input/transform.h"
#include "millrace/trainer/step/scores.h"
#include "millrace/trainer/trainer.h"

namespace millrace::cli {

// Several lines: steps, rows, epochs, seconds; last batch, loss, metrics; what was left out; the hash of the weights;
// the model's file, or how to keep the model; checkpoints, if there are any. `input` holds more lines, about the input.
std::string result_text(const TrainResult& result, std::string_view input = {});

// "left out: 8 rows (last partial batch), 2 bad rows"; or "left out: nothing".
std::string left_out_text(const InputSummary& input);

// The result of `trainer input`.
struct InputResult {
  std::string reason;  // "end of data", "batches" or "stopped"
  InputSummary input;
  double seconds = 0;
};
std::string result_text(const InputResult& result);

// The result of `trainer evaluate`.
struct EvaluationResult {
  uint64_t rows = 0;
  uint64_t files = 0;
  double loss = 0;
  MetricValues metrics = {};
  std::string weight = {};                     // the field by which rows count in both; empty: all count alike
  std::string unweighted = {};                 // with a weight: the setting that takes it away
  MetricValues in_label_unit = {};             // the result of in_label_unit() for the metrics
  std::optional<double> commonest_class = {};  // the share of the rows that belong to it
  double seconds = 0;
};

// The metrics that are in the label's unit (or a power of it), converted to the unit that the label had before it was
// normalised or mapped; empty if its unit was not changed.
MetricValues in_label_unit(const MetricValues& metrics, const std::vector<NamedMetric>& kinds,
                           const FieldHistory& label);

// "1000 rows of 4 files in 0.031 s (32258 rows/s)", then "loss 0.43  accuracy 0.81"; one more line if rows are
// weighted, and one if the model is no more accurate than a guess of the commonest class for every row.
std::string evaluation_text(const EvaluationResult& result);

// The result of `trainer check`.
struct CheckReport {
  std::string rows;  // the fields of a row
  int64_t batch_size = 0;
  std::string model;  // Model::summary()
  int64_t parameters = 0;
  uint64_t memory_bound = 0;
  bool varies = false;    // there are strings or ragged fields, which the bound leaves out
  int64_t rows_read = 0;  // from the start of the files; 0: no row was read
  std::vector<std::string> warnings;
};
std::string check_text(const CheckReport& report);

// "loss 0.69  accuracy 0.57  error 0.43".
std::string loss_text(double loss, const MetricValues& metrics);

}  // namespace millrace::cli
