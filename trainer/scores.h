// Scores: the loss and the metrics of batches: computed on the device, one batch at a time, and joined on the host, in
// double and in the order of the batches.
//
//   Scores scores({.context = context, .loss = *loss, .metrics = &metrics, .prediction = model.output(),
//                  .label = fields.label(), .weighted = fields.weighted()});
//   const auto plan = scores.plan(prediction, label);  // for one batch size
//   scores.run(*plan, {.prediction = prediction, .label = label});
//   scores.add();  // of every batch, or of those that anybody asks about
//   report(scores.loss(), scores.metrics());
//
// run() allocates nothing, and add() nothing where ScoresArgs::batches is set. One thread uses a Scores; what its
// arguments refer to must outlive it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "millrace/core/context.h"
#include "millrace/core/errors.h"
#include "millrace/core/tensor.h"
#include "millrace/layers/loss.h"
#include "millrace/layers/metric.h"

namespace millrace {

struct NamedMetric {
  std::string name;
  std::unique_ptr<Metric> metric;
  Place place = {};  // in the configuration
};

struct ScoresArgs {
  Context& context;
  const Loss& loss;
  const std::vector<NamedMetric>* metrics = nullptr;
  TensorSpec prediction;  // one row of it
  TensorSpec label;       // one row, as the loss reads it
  bool weighted = false;
  int64_t batches = 0;  // joined between two resets, at most; 0: any number
};

struct ScoredBatch {
  ConstTensorView prediction;
  ConstTensorView label;
  ConstTensorView weight;    // null when not weighted
  TensorView gradient = {};  // of the loss, by the prediction; null when only scores are wanted
};

// What one batch size needs; made by Scores::plan().
class ScorePlan {
 public:
  // On the device and beside it.
  size_t bytes() const { return bytes_; }

 private:
  friend class Scores;

  int64_t rows_ = 0;
  std::unique_ptr<LossPlan> loss_;
  std::vector<std::unique_ptr<MetricPlan>> metrics_;
  std::vector<Memory> partials_;
  Memory scratch_;
  size_t bytes_ = 0;
};

class Scores {
 public:
  // Throws ShapeError at the metric's place when one does not fit prediction and label, naming both.
  explicit Scores(const ScoresArgs& args);

  // Only shapes and strides of the views are read.
  std::unique_ptr<ScorePlan> plan(const TensorView& prediction, const TensorView& label);
  // Computes loss and gradient of a batch of the plan's size. The metrics are left to the first add() behind it, which
  // reads the batch again: it and the plan must live until then, or until the next run().
  void run(ScorePlan& plan, const ScoredBatch& batch);
  bool ran() const { return last_ != nullptr; }

  // What the loss wrote about the last run(), on the device: LossArgs::loss.
  const void* device_loss() const { return loss_value_.data(); }
  // The loss of the last run(); waits for the device. REQUIRES: ran().
  double batch_loss();

  // Joins the scores of the last run() to the others; waits for the device. REQUIRES: ran().
  void add();
  // What was joined since reset(): the number of batches, and loss and metrics over all their rows. The loss is NaN
  // where no row counted.
  int64_t batches() const { return batches_; }
  double loss() const;
  const std::vector<double>& metrics();  // in the order of ScoresArgs::metrics
  void reset();

  // Bytes beside the plans, at most, for batches of any size that was planned.
  size_t bytes() const;

 private:
  struct BatchLoss {
    double mean = 0, weight = 0;
  };
  // The metrics of the last run().
  void judge();
  // The last run's, as soon as copies on their way have arrived.
  BatchLoss read_loss();

  ScoresArgs args_;
  Memory loss_value_;
  ScorePlan* last_ = nullptr;  // of the last run()
  ScoredBatch batch_;          // of the last run()
  bool judged_ = false;        // its metrics are there
  std::vector<std::unique_ptr<MetricAccumulator>> accumulators_;
  std::vector<std::vector<std::byte>> host_partials_;
  std::vector<double> values_;
  double weighted_loss_ = 0, weight_ = 0;
  int64_t batches_ = 0;
  int64_t most_rows_ = 0;  // joined between two resets
};

}  // namespace millrace
