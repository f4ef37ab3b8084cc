// Metric: a number that judges predictions. A plan reduces each batch to a few bytes on the device; an accumulator on
// the host joins them in order, over one batch, a logging window or a whole evaluation.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "millrace/core/context.h"
#include "millrace/core/registry.h"
#include "millrace/core/tensor.h"

namespace millrace {

struct MetricArgs {
  ConstTensorView prediction;
  ConstTensorView label;
  void* partial = nullptr;  // partial_bytes(), in the device's memory: this batch's contribution
  void* scratch = nullptr;
};

class MetricPlan {
 public:
  virtual ~MetricPlan() = default;
  virtual size_t partial_bytes() const = 0;
  virtual size_t scratch_bytes() const { return 0; }
  virtual void run(Context& context, const MetricArgs& args) = 0;
};

class MetricAccumulator {
 public:
  virtual ~MetricAccumulator() = default;
  // Joins the partial of a batch of `rows` rows.
  virtual void add(std::span<const std::byte> partial, int64_t rows) = 0;
  // The metric over everything added since reset(); NaN when nothing was.
  virtual double value() const = 0;
  virtual void reset() = 0;
};

class Metric {
 public:
  virtual ~Metric() = default;
  // Whether one row of prediction and label fit; the label in the loss's label_dtype(). Throws ShapeError that names
  // both.
  virtual void check(const TensorSpec& prediction, const TensorSpec& label) const = 0;
  virtual std::unique_ptr<MetricPlan> plan(Context& context, const TensorView& prediction,
                                           const TensorView& label) const = 0;
  virtual std::unique_ptr<MetricAccumulator> accumulator() const = 0;
};

using MetricRegistry = Registry<Metric>;

}  // namespace millrace
