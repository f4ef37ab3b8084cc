// ScaledGradient: the gradients as an update must see them, for the functors of optimizers.
//
//   parameter[i] -= rate * gradient[i];   // gradient: ScaledGradient<T>(args)
#pragma once

#include <cstdint>

#include "millrace/core/hd.h"
#include "millrace/layers/optimizer.h"

namespace millrace {

template <class T>
struct ScaledGradient {
  const T* values;
  const float* scale;  // null: 1

  explicit ScaledGradient(const UpdateArgs& args) : values(args.gradients.as<T>()), scale(args.gradient_scale) {}

  MILLRACE_HD T operator[](int64_t i) const {
    return scale != nullptr ? static_cast<T>(*scale) * values[i] : values[i];
  }
};

}  // namespace millrace
