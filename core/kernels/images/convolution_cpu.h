// The implementations of convolutions on the CPU. make_convolution() (convolution.h) chooses one.
#pragma once

#include <memory>

#include "millrace/core/kernels/images/convolution.h"

namespace millrace::cpu {

// f32, by oneDNN.
std::unique_ptr<Convolution> make_onednn_convolution(Context& context, const ConvolutionSpec& spec,
                                                     const ConvolutionOptions& options);

// f64, for checks, in plain loops: every sum runs in order, in the dtype of the values. The gradients allocate memory
// for their sums.
std::unique_ptr<Convolution> make_loop_convolution(const ConvolutionSpec& spec, const ConvolutionOptions& options);

}  // namespace millrace::cpu
