// Activations that layers may fuse: their names in configurations, and the rectifier as functors.
#pragma once

#include <string_view>
#include <utility>

#include "millrace/core/hd.h"
#include "millrace/core/kernels/gemm.h"
#include "millrace/core/options.h"

namespace millrace {

template <>
struct EnumNames<Activation> {
  static constexpr std::pair<std::string_view, Activation> kNames[] = {{"none", Activation::none},
                                                                       {"relu", Activation::relu}};
};

// max(x, 0); a NaN stays one, so that a diverging model shows.
struct Relu {
  template <class T>
  MILLRACE_HD T operator()(T x) const {
    return x < T(0) ? T(0) : x;
  }
};

// From the output: 0 where y is 0, the kink included.
struct ReluGradient {
  template <class T>
  MILLRACE_HD T operator()(T y, T dy) const {
    return y > T(0) ? dy : T(0);
  }
};

}  // namespace millrace
