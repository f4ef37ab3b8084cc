// Optimizer: how gradients change parameters. Configuration only; its per-parameter state belongs to the step.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "millrace/core/context.h"
#include "millrace/core/registry.h"
#include "millrace/core/tensor.h"

namespace millrace {

struct UpdateArgs {
  TensorView parameters;              // one parameter, or the whole block as a vector
  ConstTensorView gradients;          // the same shape
  std::span<const TensorView> slots;  // state_slots() of the same shape, zero at first
  const float* scalars = nullptr;     // what scalars() gave for this step, in the device's memory
};

class Optimizer {
 public:
  virtual ~Optimizer() = default;
  // Values kept for each parameter element (momentum: 1, Adam: 2).
  virtual int state_slots() const { return 0; }
  // Numbers that change from step to step (learning rates): written by scalars() before each step, so that nothing is
  // planned again when they change.
  virtual int scalar_count() const { return 1; }
  // `step` counts from 0. REQUIRES: out.size() == scalar_count().
  virtual void scalars(uint64_t step, std::span<float> out) const = 0;
  // True when the update is exactly parameter += scalars[0] * gradient, so that the planner may let backward add to the
  // parameters directly. update() gives the same up to rounding.
  virtual bool adds_scaled_gradient() const { return false; }
  virtual void update(Context& context, const UpdateArgs& args) const = 0;
};

using OptimizerRegistry = Registry<Optimizer>;

}  // namespace millrace
