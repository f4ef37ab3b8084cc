// Activations: y = f(z) behind a product or on its own. A new one is a functor with its gradient, a name and a case of
// visit_activation(), all in this file; the layers that offer `activation` follow.
//
// A functor says whether the product itself computes it (kFused), and what its gradient dz is computed from besides dy:
// z, where only that tells, or y, so that z need not be kept.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>

#include "millrace/core/context.h"
#include "millrace/core/errors.h"
#include "millrace/core/hd.h"
#include "millrace/core/kernels/gemm.h"
#include "millrace/core/math.h"
#include "millrace/core/options.h"
#include "millrace/layers/elementwise.h"

namespace millrace {

enum class Activation : uint8_t { none, relu, tanh, gelu, sigmoid };

template <>
struct EnumNames<Activation> {
  static constexpr std::pair<std::string_view, Activation> kNames[] = {{"none", Activation::none},
                                                                       {"relu", Activation::relu},
                                                                       {"tanh", Activation::tanh},
                                                                       {"gelu", Activation::gelu},
                                                                       {"sigmoid", Activation::sigmoid}};
};

// What the gradient of an activation reads; `nothing`: dz is dy.
enum class GradientReads : uint8_t { nothing, z, y };

struct NoActivation {
  static constexpr FusedActivation kFused = FusedActivation::none;
  static constexpr GradientReads kReads = GradientReads::nothing;
};

// 0 where y is 0, the kink included.
struct ReluGradient {
  template <class T>
  MILLRACE_HD T operator()(T y, T dy) const {
    return y > T(0) ? dy : T(0);
  }
};

// max(z, 0); a NaN stays one, so that a diverging model shows.
struct Relu {
  static constexpr FusedActivation kFused = FusedActivation::relu;
  static constexpr GradientReads kReads = GradientReads::y;
  using Gradient = ReluGradient;
  template <class T>
  MILLRACE_HD T operator()(T z) const {
    return z < T(0) ? T(0) : z;
  }
};

struct TanhGradient {
  template <class T>
  MILLRACE_HD T operator()(T y, T dy) const {
    return dy * (T(1) - y * y);
  }
};

struct Tanh {
  static constexpr FusedActivation kFused = FusedActivation::none;
  static constexpr GradientReads kReads = GradientReads::y;
  using Gradient = TanhGradient;
  template <class T>
  MILLRACE_HD T operator()(T z) const {
    return math::tanh(z);
  }
};

// The share of a standard normal below z.
template <class T>
MILLRACE_HD inline T normal_share(T z) {
  return T(0.5) * (T(1) + math::erf(z * T(0.70710678118654752440)));
}

// dy/dz = share(z) + z density(z)
struct GeluGradient {
  template <class T>
  MILLRACE_HD T operator()(T z, T dy) const {
    const T density = T(0.39894228040143267794) * math::exp(T(-0.5) * z * z);
    return dy * (normal_share(z) + z * density);
  }
};

// z times the share of a standard normal below it.
struct Gelu {
  static constexpr FusedActivation kFused = FusedActivation::none;
  static constexpr GradientReads kReads = GradientReads::z;
  using Gradient = GeluGradient;
  template <class T>
  MILLRACE_HD T operator()(T z) const {
    return z * normal_share(z);
  }
};

struct SigmoidGradient {
  template <class T>
  MILLRACE_HD T operator()(T y, T dy) const {
    return dy * (y * (T(1) - y));
  }
};

// 1 / (1 + exp(-z)), from the exponential that cannot overflow.
struct Sigmoid {
  static constexpr FusedActivation kFused = FusedActivation::none;
  static constexpr GradientReads kReads = GradientReads::y;
  using Gradient = SigmoidGradient;
  template <class T>
  MILLRACE_HD T operator()(T z) const {
    const T small = math::exp(z < T(0) ? z : -z);
    return (z < T(0) ? small : T(1)) / (T(1) + small);
  }
};

// use(f), f the functor of `activation`.
template <class F>
decltype(auto) visit_activation(Activation activation, F&& use) {
  switch (activation) {
    case Activation::none: return use(NoActivation{});
    case Activation::relu: return use(Relu{});
    case Activation::tanh: return use(Tanh{});
    case Activation::gelu: return use(Gelu{});
    case Activation::sigmoid: return use(Sigmoid{});
  }
  throw InternalError("there is no such activation");
}

// What a product computes of it; the rest is for activate().
inline FusedActivation fused_activation(Activation activation) {
  return visit_activation(activation, []<class F>(F) { return F::kFused; });
}
inline GradientReads gradient_reads(Activation activation) {
  return visit_activation(activation, []<class F>(F) { return F::kReads; });
}

// Like the passes that they call, these have another name in CUDA units than in C++ ones.
inline namespace MILLRACE_UNIT {

// y = f(z), where the product has not done it; z may be y.
inline void activate(Context& context, Activation activation, const ConstTensorView& z, const TensorView& y) {
  visit_activation(activation, [&]<class F>(F f) {
    if constexpr (F::kFused == FusedActivation::none && F::kReads != GradientReads::nothing) {
      map_elements(context, z, y, f);
    }
  });
}

// dz from dy and `value`, which is the one that the activation's gradient reads. REQUIRES: it reads one.
inline void activation_gradient(Context& context, Activation activation, const ConstTensorView& value,
                                const ConstTensorView& dy, const TensorView& dz) {
  visit_activation(activation, [&]<class F>(F) {
    if constexpr (F::kReads != GradientReads::nothing) zip_elements(context, value, dy, dz, typename F::Gradient{});
  });
}

}  // namespace MILLRACE_UNIT
}  // namespace millrace
