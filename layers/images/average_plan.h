// The plan of the layers that take means of windows.
#pragma once

#include "millrace/layers/images/pool.h"

namespace millrace {

class AveragePlan final : public LayerPlan {
 public:
  AveragePlan(const Window& window, const PlanArgs& args) : spec_(pooling_spec(window, args.inputs[0])) {}

  bool backward_reads_inputs() const override { return false; }
  bool backward_reads_output() const override { return false; }

  void forward(Context& context, const ForwardArgs& args) override {
    average_pool(context, spec_, args.inputs[0], args.output);
  }
  void backward(Context& context, const BackwardArgs& args) override {
    if (!args.input_gradients[0]) return;
    average_pool_gradient(context, spec_, args.output_gradient, args.input_gradients[0]);
  }

 private:
  PoolingSpec spec_;
};

}  // namespace millrace
