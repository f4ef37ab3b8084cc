// What a training tells: reports on its way, and its result.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "millrace/input/graph/pipeline.h"
#include "millrace/trainer/delivery/delivery_statistics.h"
#include "millrace/trainer/step/named_metric.h"

namespace millrace {

struct StartReport {
  std::string device;
  int threads = 0;
  int64_t parameters = 0;
  int64_t batch_size = 0;
  std::optional<int64_t> steps;  // absent: until the data ends
};

struct StepReport {
  int64_t step = 0;    // counted from 1
  uint64_t epoch = 0;  // counted from 1: the pass of the newest row
  int64_t batch_size = 0;
  double loss = 0;        // of this batch, or with train.report_over: window of all since the report before
  MetricValues metrics;   // likewise
  double rows_per_s = 0;  // since the report before
  double input_wait = 0;  // share of the time since the report before in which the step waited for input
  double seconds = 0;     // since the start
  uint64_t groups = 0;    // launches of several steps at once (CUDA), since the start
};

// Of one step, when it is over; the times are those since the start. Costs nothing to speak of.
struct BatchReport {
  int64_t step = 0;    // counted from 1
  int64_t rows = 0;    // of the batch
  int64_t queued = 0;  // batches that lie in the delivery's queue
  double seconds = 0;
  DeliveryTimes input;
};

struct ValidationReport {
  int64_t step = 0;    // the last one before it
  uint64_t epoch = 0;  // of that step
  uint64_t rows = 0;
  double loss = 0;       // over all rows
  MetricValues metrics;  // over all rows
  bool best = false;     // better than every validation before
  double seconds = 0;
};

// The validation whose model is kept.
struct BestStep {
  int64_t step = 0;
  std::string metric;
  double value = 0;
};

struct TrainResult {
  std::string reason;  // "end of data", "steps", "no improvement" or "stopped"
  int64_t steps = 0;
  // Of these, steps that no update followed, as loss or gradient were not finite (train.on_nonfinite: skip).
  int64_t skipped_steps = 0;
  uint64_t rows = 0;
  uint64_t epochs = 0;  // passes up to the newest of which a row was trained on, however far the input is ahead
  double seconds = 0;
  int64_t last_batch = 0;  // rows of it; 0 when there was none
  bool window = false;     // loss and metrics are over the last window (train.report_over), not of the last batch alone
  double loss = 0;         // NaN when there was no step
  MetricValues metrics;
  // With validation.keep_best: whose parameters the model has, unless no validation had a number.
  std::optional<BestStep> best;
  std::string weights;  // sha-256 over the parameters in model order, little-endian f32
  std::string saved;    // the file of the key `save`; empty: the model was not saved
  double input_wait = 0;
  InputSummary input;
  DeliveryStatistics delivery;
  double validation_seconds = 0;  // of `seconds`, spent on validations
  std::string device;
  bool recorded = false;  // the last step came as recorded graphs (CUDA)
  int threads = 1;
};

// Called on the thread of run(), in the default floating-point mode.
struct TrainCallbacks {
  std::function<void(const StartReport&)> on_start = {};
  std::function<void(const BatchReport&)> on_batch = {};    // every step
  std::function<void(const StepReport&)> on_step = {};      // every log_every steps
  std::function<void(const StepReport&)> on_progress = {};  // at most about ten times a second
  std::function<void(const ValidationReport&)> on_validation = {};
  std::function<void(std::string_view)> on_log = {};  // warnings, bad rows, lines of `print`
};

}  // namespace millrace
