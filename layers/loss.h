// Loss: the value that training minimises, the mean over the batch's rows (weighted: sum(w l) / sum(w)), and its
// gradient.
//
// Row weights are finite and not negative: the step refuses others before the loss sees them. A row of weight 0 does
// not count, whatever its prediction; if all weights are 0, loss and gradient are 0.
// Thread-safety as for layers: a Loss is configuration, a LossPlan is used by one thread at a time.
#pragma once

#include <memory>

#include "millrace/core/context.h"
#include "millrace/core/export.h"
#include "millrace/core/registry.h"
#include "millrace/core/tensor.h"
#include "millrace/layers/predictions.h"
#include "millrace/layers/wanted.h"

namespace millrace {

// How a loss reads its label, whatever dtype the model computes in: float32 for numbers, int32 for class labels.
using LabelSpec = Wanted;

struct LossPlanArgs {
  TensorView prediction = {};  // (B, ...), shapes and strides only
  TensorView label = {};       // (B, ...) of label().dtype
  bool weighted = false;
};

struct LossArgs {
  ConstTensorView prediction = {};
  ConstTensorView label = {};
  ConstTensorView weight = {};  // (B, 1) float32; null if not weighted
  // Two values of the prediction's dtype, in the device's memory: the mean over the rows and the sum of their weights
  // (unweighted: their number). With the second an evaluation joins the means of its batches.
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

class MILLRACE_EXPORT Loss {
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

}  // namespace millrace
