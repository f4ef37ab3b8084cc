// StepNumbers: what changes from step to step besides the batch: the number of the pass and the optimizer's scalars.
// They lie in the device's memory, so that a recorded step need not change (core/replay.h).
//
//   numbers.write(passes, updates);  // REQUIRES: the previous copy has ended
//   numbers.bring(copies);
//   model.forward(context, inputs, numbers.pass());
//
// Used by one thread; the optimizer must outlive it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "millrace/core/context.h"
#include "millrace/layers/optimizer.h"

namespace millrace {

class StepNumbers {
 public:
  StepNumbers(Device device, const Optimizer& optimizer);

  // The numbers of a step that comes after `passes` forward passes and `updates` updates.
  void write(uint64_t passes, uint64_t updates);
  // Copies what was written to the device, without waiting.
  void bring(Context& context);

  // On the device.
  const uint64_t* pass() const { return static_cast<const uint64_t*>(there_.data()); }
  const float* scalars() const { return reinterpret_cast<const float*>(pass() + 1); }

  size_t bytes() const { return here_.bytes() + there_.bytes(); }

 private:
  const Optimizer& optimizer_;
  Memory here_, there_;  // on the host, and on the device
};

}  // namespace millrace
