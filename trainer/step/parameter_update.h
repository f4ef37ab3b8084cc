// ParameterUpdate: an optimizer over a model's parameters, with the state that it keeps for each.
//
//   ParameterUpdate update(model, context, optimizer);
//   update.apply(gradients, scalars, scale);
//
// One thread uses it; model, context and optimizer must outlive it.
#pragma once

#include <cstddef>
#include <vector>

#include "millrace/core/context.h"
#include "millrace/layers/model/model.h"
#include "millrace/layers/optimizer.h"

namespace millrace {

class ParameterUpdate {
 public:
  ParameterUpdate(Model& model, Context& context, const Optimizer& optimizer);

  // Updates every parameter; only gives the work to the context. `scalars` and `scale` (null: 1) lie in the device's
  // memory and are read when the work runs. `gradients` are laid out like the parameter block.
  void apply(const Memory& gradients, const float* scalars, const float* scale) const;

  // The optimizer's state: Optimizer::state_slots() blocks laid out like the parameter block, zero at first.
  const std::vector<TensorView>& slots() const { return slots_; }
  size_t bytes() const { return slots_.empty() ? 0 : slots_.size() * slots_.front().bytes(); }

 private:
  // Neighbouring parameters that one call of the optimizer updates.
  struct Run {
    size_t offset = 0;  // bytes from the start of the block
    TensorView parameters;
    std::vector<TensorView> slots;
    bool decay = false;
  };

  Context& context_;
  const Optimizer& optimizer_;
  std::vector<Memory> slot_memory_;
  std::vector<TensorView> slots_;
  std::vector<Run> runs_;
};

}  // namespace millrace
