// Activations: y = f(z) behind a product or on its own, on the CPU and on CUDA, in float32 and float64.
//
// A new one is a name here and, in activation.cpp, a functor with its gradient and a case of visit_activation(); the
// layers that offer `activation` follow. Their kernels are compiled there alone.
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

// What the gradient of an activation reads besides dy: z, where only that tells, or y, so that z need not be kept;
// `nothing`: dz is dy.
enum class GradientReads : uint8_t { nothing, z, y };

// What a product computes of it: all of it, or none, and the rest is for activate().
MILLRACE_EXPORT FusedActivation fused_activation(Activation activation);
MILLRACE_EXPORT GradientReads gradient_reads(Activation activation);

// y = f(z); z may be y. REQUIRES: the activation is not none.
MILLRACE_EXPORT void activate(Context& context, Activation activation, const ConstTensorView& z, const TensorView& y);

// dz from dy and `value`, which is what the activation's gradient reads. REQUIRES: the activation is not none.
MILLRACE_EXPORT void activation_gradient(Context& context, Activation activation, const ConstTensorView& value,
                                         const ConstTensorView& dy, const Destination& dz);

// The same for a whole dz, and `sums`, of a value for each column, gets the sums over its rows; of relu on CUDA in one
// pass. `scratch` as for column_sum() (kernels/reduce.h) of dz.
MILLRACE_EXPORT void activation_gradient(Context& context, Activation activation, const ConstTensorView& value,
                                         const ConstTensorView& dy, const TensorView& dz, const Destination& sums,
                                         void* scratch);

}  // namespace millrace
