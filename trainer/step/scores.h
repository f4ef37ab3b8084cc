// Scores: computes the loss and the metrics of batches on the device, one batch at a time, and joins them on the host,
// in double and in the order of the batches.
//
//   Scores scores({.context = context, .loss = *loss, .metrics = &metrics, .prediction = model.output(),
//                  .label = fields.label(), .weighted = fields.weighted()});
//   const auto plan = scores.plan(prediction, label);  // for one batch size
//   scores.run(*plan, {.prediction = prediction, .label = label});
//   scores.add(*plan, {.prediction = prediction, .label = label});  // for every batch, or those that are asked about
//   report(scores.loss(), scores.metrics());
//
// run(), judge() and fetch() only give work to the context and may be recorded (core/replay.h). They allocate nothing,
// nor does join() if ScoresArgs::batches is set. One thread uses a Scores; what its arguments refer to must outlive it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "millrace/core/context.h"
#include "millrace/core/errors.h"
#include "millrace/core/state.h"
#include "millrace/core/tensor.h"
#include "millrace/layers/loss.h"
#include "millrace/layers/model/model_plan.h"

namespace millrace {

// A metric by the name under which a configuration asks for it.
struct NamedMetric {
  std::string name;
  std::unique_ptr<Metric> metric;
};

struct ScoresArgs {
  Context& context;
  const Loss& loss;
  const std::vector<NamedMetric>* metrics = nullptr;
  TensorSpec prediction;  // one row of it
  TensorSpec label;       // one row, as the loss reads it
  bool weighted = false;
  int64_t batches = 0;  // the most that are joined between two resets; 0: any number
  bool direct = false;  // run() stores the loss at ScoredBatch::loss, so that fetch() need not copy it
};

struct ScoredBatch {
  ConstTensorView prediction;
  ConstTensorView label;
  ConstTensorView weight;    // null when not weighted
  TensorView gradient = {};  // for the gradient of the loss, by the prediction; null if only scores are wanted
  void* loss = nullptr;      // ScoresArgs::direct: a make_copy(), which the device writes to across the bus
};

// Everything for one batch size; made by Scores::plan().
class ScorePlan {
 public:
  // On the device and on the host.
  size_t bytes() const { return bytes_; }

 private:
  friend class Scores;

  int64_t rows_ = 0;
  std::unique_ptr<LossPlan> loss_;
  std::vector<std::unique_ptr<MetricPlan>> metrics_;
  std::vector<Memory> partials_;
  Memory scratch_;
  Memory copy_;  // for add()
  size_t bytes_ = 0;
};

class Scores {
 public:
  // Throws ShapeError, placed at the metric, when a metric does not fit prediction and label; it names both.
  explicit Scores(const ScoresArgs& args);

  // Only shapes and strides of the views are read. `model`, which gives the prediction, may be planned to leave its end
  // to the loss (ModelPlan::fuse).
  std::unique_ptr<ScorePlan> plan(const TensorView& prediction, const TensorView& label, ModelPlan* model = nullptr);
  // Host memory for the scores of one batch: the loss's two values, then the metrics' partials.
  Memory make_copy(const ScorePlan& plan) const;

  // Computes loss and gradient of a batch of the plan's size.
  void run(ScorePlan& plan, const ScoredBatch& batch);
  // Computes the metrics of such a batch.
  void judge(ScorePlan& plan, const ScoredBatch& batch);
  // Whether fetch() has anything to copy.
  bool fetches(bool metrics) const { return !args_.direct || (metrics && !accumulators_.empty()); }
  // Copies the results of the last run() to the host, and those of judge() if `metrics` is set. REQUIRES: `context`
  // comes after the work of both.
  void fetch(Context& context, const ScorePlan& plan, bool metrics, const Memory& copy) const;
  // LossArgs::loss of the last run(), on the device. REQUIRES: not ScoresArgs::direct.
  const void* device_loss() const { return loss_value_.data(); }

  // The loss of one batch.
  struct BatchLoss {
    double mean = 0;    // NaN if no row counted
    double weight = 0;  // of all rows
    // Whether the loss is finite, or there is none because no row counted.
    bool fine() const;
  };
  // The loss that arrived. REQUIRES: the fetch() has ended.
  BatchLoss loss_of(const Memory& copy) const;
  // Joins scores that arrived, metrics among them, to the others. REQUIRES: the fetch() has ended.
  void join(const ScorePlan& plan, const Memory& copy);
  // judge(), fetch() and join() for the batch of the last run(); waits for the device.
  void add(ScorePlan& plan, const ScoredBatch& batch);

  // Loss and metrics over all rows of the batches that were joined since reset(). The loss is NaN if no row counted.
  double loss() const;
  const MetricValues& metrics();  // in the order of ScoresArgs::metrics
  void reset();
  // Save and restore everything that was joined. restore() throws DataError if the state cannot belong to these
  // metrics.
  void save(State& state) const;
  void restore(const State& state);

  // Bytes besides those of the plans, at most, for batches of any size that was planned.
  size_t bytes() const;

 private:
  template <class Body>
  void for_each_metric(const Body& body) const;

  ScoresArgs args_;
  Memory loss_value_;
  std::vector<std::unique_ptr<MetricAccumulator>> accumulators_;
  MetricValues values_;
  double weighted_loss_ = 0, weight_ = 0;
  int64_t most_rows_ = 0;  // that may be joined between two resets
};

}  // namespace millrace
