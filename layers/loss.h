// Judges of predictions. Loss: the value that training minimises, the mean over the batch's rows (weighted:
// sum(w l) / sum(w)), and its gradient. Metric: a number for the user. Predictions: what a model's numbers mean to a
// loss or a metric.
//
// Row weights are 0 or from 1e-20 to 1e20: the step refuses others before the loss sees them. A row of weight 0 does
// not count, whatever its prediction; the step replaces a label of it that lies outside the loss's range. If all
// weights are 0, loss and gradient are 0, and users are told that there is no loss: NaN. Thread-safety as for layers: a
// Loss or a Metric is configuration, a plan is used by one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "millrace/core/context.h"
#include "millrace/core/export.h"
#include "millrace/core/registry.h"
#include "millrace/core/state.h"
#include "millrace/core/tensor.h"
#include "millrace/layers/layer.h"

namespace millrace {

// The meaning of the numbers that a loss trains a model to give, or that a metric takes for predictions.
enum class Predictions : uint8_t {
  unknown,
  numbers,         // near the label's numbers
  logits,          // of classes
  sigmoid_logits,  // the sigmoid of each is the probability of yes
  softmax_logits,  // the softmax of all of them gives the probabilities of the classes
};

constexpr bool are_logits(Predictions predictions) { return predictions >= Predictions::logits; }

// The function that turns them into probabilities, by the name that layers and activations have for it; empty: none.
constexpr std::string_view to_probabilities(Predictions predictions) {
  if (predictions == Predictions::sigmoid_logits) return "sigmoid";
  return predictions == Predictions::softmax_logits ? "softmax" : "";
}

// How a loss reads its label, whatever dtype the model computes in: float32 for numbers, int32 for class labels.
using LabelSpec = Wanted;

struct LossPlanArgs {
  TensorView prediction = {};  // (B, ...), shapes and strides only
  TensorView label = {};       // (B, ...), of the loss's label().dtype
  bool weighted = false;
};
using MetricPlanArgs = LossPlanArgs;

struct LossArgs {
  ConstTensorView prediction = {};
  ConstTensorView label = {};
  ConstTensorView weight = {};  // (B, 1) float32; null if not weighted
  // Two values of the prediction's dtype: the mean over the rows and the sum of their weights (unweighted: their
  // number). An evaluation uses the second to join the means of its batches. In the device's memory or, unweighted, on
  // the host where the device can write: to read them back may take as long as a kernel.
  void* loss = nullptr;
  TensorView gradient = {};  // of the mean, by the prediction; null if only the loss is wanted
  void* scratch = nullptr;
};

// Like a LayerPlan (layer.h): allocates nothing, synchronises nothing, and may be recorded.
class MILLRACE_EXPORT LossPlan {
 public:
  virtual ~LossPlan() = default;
  virtual size_t scratch_bytes() const { return 0; }
  // Bytes that the plan holds, at most: a plan for fewer rows holds no more.
  virtual size_t bytes() const { return 0; }
  virtual void run(Context& context, const LossArgs& args) = 0;
};

class MILLRACE_EXPORT Loss : public HasOrigin {
 public:
  virtual ~Loss() = default;
  // Checks that one row of prediction and label fit, in any dtype of the label. Throws ShapeError that names both.
  virtual void check(const TensorSpec& prediction, const TensorSpec& label) const = 0;
  // REQUIRES: check() accepts the prediction (one row of it).
  virtual LabelSpec label(const TensorSpec& prediction) const = 0;
  // Throws ShapeError if args.label is not of label().dtype.
  virtual std::unique_ptr<LossPlan> plan(Context& context, const LossPlanArgs& args) const = 0;
  // Says how the model's predictions are to be read.
  virtual Predictions predictions() const { return Predictions::unknown; }
};

using LossRegistry = Registry<Loss>;

struct MetricArgs {
  ConstTensorView prediction = {};
  ConstTensorView label = {};
  ConstTensorView weight = {};  // (B, 1) float32; null if not weighted
  void* partial = nullptr;      // partial_bytes(), in the device's memory: this batch's contribution
  void* scratch = nullptr;
};

// Like a LayerPlan (layer.h): allocates nothing, synchronises nothing, and may be recorded.
class MILLRACE_EXPORT MetricPlan {
 public:
  virtual ~MetricPlan() = default;
  virtual size_t partial_bytes() const = 0;
  virtual size_t scratch_bytes() const { return 0; }
  // Bytes that the plan holds, at most: a plan for fewer rows holds no more.
  virtual size_t bytes() const { return 0; }
  virtual void run(Context& context, const MetricArgs& args) = 0;
};

class MILLRACE_EXPORT MetricAccumulator {
 public:
  virtual ~MetricAccumulator() = default;
  // Bytes that it holds, at most, if `rows` rows are added between two resets: by default none that matter.
  virtual size_t bytes(int64_t) const { return 0; }
  // Takes these bytes ahead of time, so that add() need not.
  virtual void reserve(int64_t) {}
  // Joins the partial of a batch of `rows` rows.
  virtual void add(std::span<const std::byte> partial, int64_t rows) = 0;
  // The metric over everything added since reset(); NaN if nothing was added, or nothing with a weight.
  virtual double value() const = 0;
  virtual void reset() = 0;
  // Everything that was added since reset(). An accumulator of the same metric that restores it goes on from there, as
  // if it had added the same: with the same bits. A file may lie, so restore() throws DataError for what it cannot go
  // on with.
  virtual void save(State& state) const = 0;
  virtual void restore(const State& state) = 0;
};

// A metric's plan reduces each batch to a partial on the device, usually a few bytes; an accumulator on the host joins
// partials in order, over one batch, a logging window or a whole evaluation.
//
// Rows count by their weights, as in the loss: a row of weight 0 does not count, and all rows count alike if they have
// no weights. A prediction that is NaN is never right.
class MILLRACE_EXPORT Metric : public HasOrigin {
 public:
  virtual ~Metric() = default;
  // Checks that one row of prediction and label fit; the label has the loss's label().dtype. Throws ShapeError that
  // names both.
  virtual void check(const TensorSpec& prediction, const TensorSpec& label) const = 0;
  // Throws ShapeError if args.label has a dtype that check() refuses.
  virtual std::unique_ptr<MetricPlan> plan(Context& context, const MetricPlanArgs& args) const = 0;
  virtual std::unique_ptr<MetricAccumulator> accumulator() const = 0;
  // True if a smaller value means a better model, as an error does; false if a larger one does, as a share of right
  // rows.
  virtual bool less_is_better() const = 0;
  // The meaning that the metric gives to predictions.
  virtual Predictions predictions() const { return Predictions::unknown; }
  // The power of the label's unit in the metric: 1 for a mean error, 2 for a squared one, 0 for a share. An affine
  // change of the labels multiplies the metric by that power of its factor.
  virtual int label_power() const { return 0; }
};

using MetricRegistry = Registry<Metric>;

// The values of metrics, with their names.
using MetricValues = std::vector<std::pair<std::string, double>>;

}  // namespace millrace
