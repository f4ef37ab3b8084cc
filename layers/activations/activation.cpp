#include "millrace/layers/activations/activation.h"

#include "millrace/core/errors.h"
#include "millrace/core/kernels/reduce.h"
#include "millrace/core/math.h"
#include "millrace/layers/onnx_layer.h"
#include "millrace/layers/simple_layer.h"

namespace millrace {
namespace {

// Each functor says whether a product itself computes it (kFused), and what its gradient reads.

// 0 if y is 0, also at the kink.
struct ReluGradient {
  template <class T>
  MILLRACE_HD T operator()(T y, T dy) const {
    return y > T(0) ? dy : T(0);
  }
};

// max(z, 0). A NaN stays a NaN, so that a diverging model is noticed.
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

// Stores dz and the sums of its columns.
struct ReluColumns {
  const float* y;
  const float* dy;
  float* dz;
  int64_t y_stride, dy_stride, dz_stride;
  Target<float> sums;  // one value for each column

  MILLRACE_HD float load(int64_t row, int64_t column) const {
    return ReluGradient{}(y[row * y_stride + column], dy[row * dy_stride + column]);
  }
  MILLRACE_HD float term(float gradient, int64_t row, int64_t column) const {
    dz[row * dz_stride + column] = gradient;
    return gradient;
  }
  MILLRACE_HD void store(int64_t column, float sum) const { sums.store_at(column, sum); }
};

// Calls use(f) with the functor f of `activation`. REQUIRES: the activation is not none.
template <class F>
decltype(auto) visit_activation(Activation activation, F&& use) {
  switch (activation) {
    case Activation::none: break;
    case Activation::relu: return use(Relu{});
    case Activation::tanh: return use(Tanh{});
    case Activation::gelu: return use(Gelu{});
    case Activation::sigmoid: return use(Sigmoid{});
  }
  throw InternalError("there is no such activation");
}

}  // namespace

FusedActivation fused_activation(Activation activation) {
  if (activation == Activation::none) return FusedActivation::none;
  return visit_activation(activation, []<class F>(F) { return F::kFused; });
}

GradientReads gradient_reads(Activation activation) {
  if (activation == Activation::none) return GradientReads::nothing;
  return visit_activation(activation, []<class F>(F) { return F::kReads; });
}

void activate(Context& context, Activation activation, const ConstTensorView& z, const TensorView& y) {
  visit_activation(activation, [&](auto f) { map_elements(context, z, y, f); });
}

void activation_gradient(Context& context, Activation activation, const ConstTensorView& value,
                         const ConstTensorView& dy, const Destination& dz, const Destination& sums, void* scratch) {
  const TensorView& to = dz.view;
  // Only relu has this kernel: kernels of the others would be large, and save little.
  if (sums && !context.device().is_cpu() && to.dtype() == DType::f32 && activation == Activation::relu) {
    launch_columns<float>(context, to.rows(), to.columns(),
                          ReluColumns{value.as<float>(), dy.as<float>(), to.as<float>(), value.stride(), dy.stride(),
                                      to.stride(), Target<float>(context, sums)},
                          scratch);
    return;
  }
  visit_activation(activation, [&]<class F>(F) { zip_elements(context, value, dy, dz, typename F::Gradient{}); });
  if (sums) column_sum(context, to, sums, scratch);
}

OnnxValue add_activation(OnnxGraph& graph, Activation activation, OnnxValue z) {
  switch (activation) {
    case Activation::none: break;
    case Activation::relu: return graph.add("Relu", {z});
    case Activation::tanh: return graph.add("Tanh", {z});
    case Activation::sigmoid: return graph.add("Sigmoid", {z});
    case Activation::gelu: {
      const OnnxValue erf = graph.add("Erf", {graph.add("Mul", {z, graph.constant(0.70710678118654752440F)})});
      const OnnxValue share = graph.add("Mul", {graph.add("Add", {erf, graph.constant(1.0F)}), graph.constant(0.5F)});
      return graph.add("Mul", {z, share});
    }
  }
  return z;
}

}  // namespace millrace
