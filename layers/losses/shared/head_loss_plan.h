// HeadLossPlan: the plan of a loss that can compute the head before it on its way, in one kernel. A loss need not be
// able to: the fusion of heads (layers/model/fusions/head_fusion.h) finds out.
#pragma once

#include "millrace/core/export.h"
#include "millrace/core/kernels/head.h"
#include "millrace/layers/loss.h"

namespace millrace {

class MILLRACE_EXPORT HeadLossPlan : public LossPlan {
 public:
  // Whether that is faster than one after the other.
  virtual bool can_run_with_head() const = 0;
  // Computes the head, whose y is the prediction, then does what run() does.
  // REQUIRES: can_run_with_head(); a CUDA context; float32 values.
  virtual void run_with_head(Context& context, const Head& head, const LossArgs& args) = 0;
};

}  // namespace millrace
