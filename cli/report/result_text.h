// What a run says at its end, for people. Pure functions.
#pragma once

#include <string>
#include <string_view>

#include "millrace/trainer/trainer.h"

namespace millrace::cli {

// Several lines: steps, rows, epochs, seconds; last batch, loss, metrics; what was left out; the hash of the weights;
// the model's file, or how to keep the model. `input` holds more lines, about the input.
std::string result_text(const TrainResult& result, std::string_view input = {});

// What `trainer input` did.
struct InputResult {
  std::string reason;  // "end of data", "batches" or "stopped"
  InputSummary input;
  double seconds = 0;
};
std::string result_text(const InputResult& result);

// "accuracy 0.57  error 0.43".
std::string metrics_text(const MetricValues& metrics);
// "loss 0.69  accuracy 0.57  error 0.43".
std::string loss_text(double loss, const MetricValues& metrics);

}  // namespace millrace::cli
