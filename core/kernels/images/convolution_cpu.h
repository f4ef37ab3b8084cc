// The implementations of convolutions on the CPU. The make_ functions of convolution.h check a spec and choose one.
#pragma once

#include <memory>

#include "millrace/core/kernels/images/convolution.h"

namespace millrace::cpu {

// f32, by oneDNN.
std::unique_ptr<Convolution> make_onednn_convolution(Context& context, const ConvolutionSpec& spec, bool bias,
                                                     FusedActivation activation);
std::unique_ptr<ConvolutionInputGradient> make_onednn_input_gradient(Context& context, const ConvolutionSpec& spec,
                                                                     float beta);
std::unique_ptr<ConvolutionWeightGradient> make_onednn_weight_gradient(Context& context, const ConvolutionSpec& spec,
                                                                       bool bias);

// f64, for checks, in plain loops: every sum runs in order, in the dtype of the values. The gradients allocate memory
// for their sums.
std::unique_ptr<Convolution> make_loop_convolution(const ConvolutionSpec& spec, FusedActivation activation);
std::unique_ptr<ConvolutionInputGradient> make_loop_input_gradient(const ConvolutionSpec& spec);
std::unique_ptr<ConvolutionWeightGradient> make_loop_weight_gradient(const ConvolutionSpec& spec);

}  // namespace millrace::cpu
