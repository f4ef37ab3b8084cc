// ScaledGradient: the gradients as an update must see them, for the functors of optimizers.
//
//   parameter[i] -= rate * gradient[i];   // gradient: ScaledGradient<T>(args)
//
// DecayedGradient is the same with the gradient of weight_decay / 2 * parameter^2, where decay applies.
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

template <class T>
struct DecayedGradient {
  ScaledGradient<T> gradient;
  const T* parameter;
  T decay;

  DecayedGradient(const UpdateArgs& args, double weight_decay)
      : gradient(args), parameter(args.parameters.as<T>()), decay(static_cast<T>(args.decay ? weight_decay : 0)) {}

  MILLRACE_HD T operator[](int64_t i) const { return gradient[i] + decay * parameter[i]; }
};

}  // namespace millrace
