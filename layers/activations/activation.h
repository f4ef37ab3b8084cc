// Activations: y = f(z) after a product or on its own, on the CPU and on CUDA, in float32 and float64.
//
// A new one needs a name here and, in activation.cpp, a functor with its gradient and a case of visit_activation().
// Then all layers with the option `activation` have it. Only activation.cpp compiles the kernels.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>

#include "millrace/core/context.h"
#include "millrace/core/export.h"
#include "millrace/core/kernels/gemm.h"
#include "millrace/core/options.h"
#include "millrace/core/tensor.h"

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

// The value that the gradient of an activation reads besides dy: y if that is enough, so that z need not be kept; else
// z. `nothing`: dz is dy.
enum class GradientReads : uint8_t { nothing, z, y };

// The part of the activation that a product computes: all of it, or none; then activate() computes it.
MILLRACE_EXPORT FusedActivation fused_activation(Activation activation);
MILLRACE_EXPORT GradientReads gradient_reads(Activation activation);

// y = f(z); z may be y. REQUIRES: the activation is not none.
MILLRACE_EXPORT void activate(Context& context, Activation activation, const ConstTensorView& z, const TensorView& y);

// Computes dz from dy and `value`, the z or y that gradient_reads() names. `sums`, if they are wanted, have a value for
// each column and get the sums of dz over its rows; for relu on CUDA in the same pass. `scratch` as for column_sum()
// (kernels/reduce.h) of dz. REQUIRES: the activation is not none; with `sums`, dz is only written.
MILLRACE_EXPORT void activation_gradient(Context& context, Activation activation, const ConstTensorView& value,
                                         const ConstTensorView& dy, const Destination& dz, const Destination& sums = {},
                                         void* scratch = nullptr);

}  // namespace millrace
