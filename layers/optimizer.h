// Optimizer: how gradients change parameters. It is only configuration; its state for each parameter belongs to the
// step.
//
// An optimizer must
// - multiply every gradient by `gradient_scale` before it does anything else with it (ScaledGradient of
//   layers/optimizers/scaled_gradient.h is a gradient that did): clipping and loss scaling rely on it;
// - update each element by itself, so that a call for neighbours gives what one call for each would;
// - leave an element at 0 whose parameter, gradient and slots are 0: the padding between parameters is one.
// keeps_update_contract() of tests/layers/optimizers/update_contract.h checks these.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "millrace/core/context.h"
#include "millrace/core/export.h"
#include "millrace/core/registry.h"
#include "millrace/core/tensor.h"

namespace millrace {

struct UpdateArgs {
  TensorView parameters = {};              // a run of neighbouring parameters, with their padding, as a vector
  ConstTensorView gradients = {};          // the same shape
  std::span<const TensorView> slots = {};  // state_slots() of the same shape, zero at first
  const float* scalars = nullptr;          // the numbers of scalars() for this update, in the device's memory
  // One number in the device's memory, read when the update runs; null is 1.
  const float* gradient_scale = nullptr;
  bool decay = false;  // whether weight decay applies to these parameters, as decays() says of each
};

class MILLRACE_EXPORT Optimizer {
 public:
  virtual ~Optimizer() = default;
  // Number of values kept for each element of a parameter (momentum: 1, Adam: 2).
  virtual int state_slots() const { return 0; }
  // How many numbers change from update to update (learning rates). scalars() writes them before each update, so that
  // nothing is planned again when they change.
  virtual int scalar_count() const { return 1; }
  // `step` counts the updates before this one, from 0; not the batches, because several batches may make one update.
  // REQUIRES: out.size() == scalar_count().
  virtual void scalars(uint64_t step, std::span<float> out) const = 0;
  // Whether weight decay applies to the parameter with this full name ("dense_2.bias"). The step calls update() once
  // for each longest run of neighbouring parameters with the same answer.
  virtual bool decays(std::string_view) const { return false; }
  // Whether the update is exactly parameter += scalars[0] * gradient. Then the planner may let backward add to the
  // parameters directly, if nothing scales the gradients. update() gives the same up to rounding.
  virtual bool adds_scaled_gradient() const { return false; }
  // Allocates nothing, synchronises nothing, and may be recorded (core/replay.h): numbers that change from update to
  // update come from the scalars.
  virtual void update(Context& context, const UpdateArgs& args) const = 0;
};

using OptimizerRegistry = Registry<Optimizer>;

}  // namespace millrace
