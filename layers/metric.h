// Metric: a number that judges predictions. A plan reduces each batch to a partial on the device, usually a few bytes;
// an accumulator on the host joins partials in order, over one batch, a logging window or a whole evaluation.
//
// Rows count by their weights, as in the loss (loss.h): a row of weight 0 does not count, and all rows count alike if
// they have no weights. A prediction that is NaN is never right.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "millrace/core/context.h"
#include "millrace/core/export.h"
#include "millrace/core/registry.h"
#include "millrace/core/tensor.h"
#include "millrace/layers/predictions.h"

namespace millrace {

struct MetricPlanArgs {
  TensorView prediction = {};  // (B, ...), shapes and strides only
  TensorView label = {};       // (B, ...), of the loss's label().dtype
  bool weighted = false;
};

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
};

class MILLRACE_EXPORT Metric {
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
  // What it takes predictions for.
  virtual Predictions predictions() const { return Predictions::unknown; }
  // The power of the label's unit in the metric: 1 for a mean error, 2 for a squared one, 0 for a share. An affine
  // change of the labels multiplies the metric by that power of its factor.
  virtual int label_power() const { return 0; }
};

using MetricRegistry = Registry<Metric>;

}  // namespace millrace
