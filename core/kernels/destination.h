// Destination: where a gradient goes: view = beta * view + alpha * gradient.
#pragma once

#include "millrace/core/tensor.h"

namespace millrace {

// A null view means that nobody needs the gradient. `alpha` is read when the step runs, in the device's memory; null
// is 1.
struct Destination {
  TensorView view = {};
  float beta = 0;  // 0 or 1, fixed when the step is planned
  const float* alpha = nullptr;

  explicit operator bool() const { return static_cast<bool>(view); }
};

}  // namespace millrace
