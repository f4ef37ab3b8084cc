// Finishes a product on the CPU, a row at a time: alpha, beta, bias and activation.
#pragma once

#include <cstdint>

#include "millrace/core/kernels/gemm.h"

namespace millrace::cpu {

// `alpha` as it is now; null is 1.
template <class T>
T alpha_of(const GemmArgs& args) {
  return args.alpha != nullptr ? static_cast<T>(*args.alpha) : T(1);
}

// c = activation(c + bias). The bias may be absent; a NaN stays a NaN.
template <class T>
void add_bias_and_activate(const T* bias, FusedActivation activation, int64_t columns, T* c) {
  if (bias != nullptr) {
    for (int64_t j = 0; j < columns; ++j) c[j] += bias[j];
  }
  switch (activation) {
    case FusedActivation::none: return;
    case FusedActivation::relu:
      for (int64_t j = 0; j < columns; ++j) c[j] = c[j] < T(0) ? T(0) : c[j];
      return;
  }
}

// c = activation(alpha * sums + beta * c + bias) for `columns` neighbours; c is not read when beta is 0.
template <class T>
void store_row(const T* sums, T alpha, T beta, const T* bias, FusedActivation activation, int64_t columns, T* c) {
  if (beta == T(0)) {
    for (int64_t j = 0; j < columns; ++j) c[j] = alpha * sums[j];
  } else {
    for (int64_t j = 0; j < columns; ++j) c[j] = alpha * sums[j] + beta * c[j];
  }
  add_bias_and_activate(bias, activation, columns, c);
}

}  // namespace millrace::cpu
