// StateCheck: looks whether the states of a model's layers, such as running means, and of the optimizer are finite. A
// running value that is not finite stays so for good, and the loss may never show it.
//
//   StateCheck check(model, context.device());
//   check.look(context);
//   check.fetch(context);
//   context.synchronize();
//   if (!check.finite()) report(check.first(context));
//
// look() and fetch(), which are about the layers, only give work to the context, may be recorded (core/replay.h) and
// allocate nothing. Used by one thread at a time; the model and the slots must outlive it.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "millrace/core/context.h"
#include "millrace/core/tensor.h"
#include "millrace/layers/model/model.h"

namespace millrace {

class StateCheck {
 public:
  // `slots` are the optimizer's (ParameterUpdate::slots()).
  StateCheck(const Model& model, Device device, std::span<const TensorView> slots = {});

  // Adds up the squares of all states, on the device.
  void look(Context& context) const;
  // Brings the sum to the host. REQUIRES: `context` comes after the work of look().
  void fetch(Context& context) const;
  // Whether all states were finite at the last look(); true if there are none. REQUIRES: the fetch() has ended.
  bool finite() const;
  // The first state that is not finite now, such as "batch_norm.variance"; empty if all are. Waits for the device.
  std::string first(Context& context) const;
  // Whether all slots are finite now. It reads them all, about as long as an update takes, and waits for the device.
  bool slots_finite(Context& context) const;

  size_t bytes() const { return sum_.bytes() + scratch_.bytes() + host_sum_.bytes(); }

 private:
  const Model& model_;
  std::span<const TensorView> slots_;
  Memory sum_, scratch_;  // empty if nothing has a state
  Memory host_sum_;       // empty if the layers have none
};

}  // namespace millrace
