// activated: applies a product's activation to a value, on the host and on CUDA. A NaN stays a NaN.
#pragma once

#include "millrace/core/export.h"
#include "millrace/core/kernels/gemm.h"

namespace millrace {

inline namespace MILLRACE_UNIT {

template <class T>
MILLRACE_HD T activated(T value, FusedActivation activation) {
  switch (activation) {
    case FusedActivation::none: break;
    case FusedActivation::relu: return value < T(0) ? T(0) : value;
  }
  return value;
}

}  // namespace MILLRACE_UNIT
}  // namespace millrace
