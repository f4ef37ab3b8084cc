// Loss: what training minimises: the mean over the batch's rows (weighted: sum(w l) / sum(w)) and its gradient.
//
// Thread-safety as for layers: a Loss is configuration, a LossPlan is used by one thread at a time.
#pragma once

#include <memory>

#include "millrace/core/context.h"
#include "millrace/core/registry.h"
#include "millrace/core/tensor.h"

namespace millrace {

struct LossPlanArgs {
  TensorView prediction;  // (B, ...), shapes and strides only
  TensorView label;       // (B, ...)
  bool weighted = false;
};

struct LossArgs {
  ConstTensorView prediction;
  ConstTensorView label;
  ConstTensorView weight;  // (B, 1) float32; null when not weighted
  void* loss = nullptr;    // one value of the prediction's dtype, in the device's memory
  TensorView gradient;     // of the mean, by the prediction; null when only the loss is wanted
  void* scratch = nullptr;
};

class LossPlan {
 public:
  virtual ~LossPlan() = default;
  virtual size_t scratch_bytes() const { return 0; }
  virtual void run(Context& context, const LossArgs& args) = 0;
};

class Loss {
 public:
  virtual ~Loss() = default;
  // Whether one row of prediction and label fit, in any dtype of the label. Throws ShapeError that names both.
  virtual void check(const TensorSpec& prediction, const TensorSpec& label) const = 0;
  // The dtype in which the label reaches the step: float32 for losses of numbers, int32 for class labels.
  virtual DType label_dtype() const = 0;
  virtual std::unique_ptr<LossPlan> plan(Context& context, const LossPlanArgs& args) const = 0;
};

using LossRegistry = Registry<Loss>;

}  // namespace millrace
