// The CUDA side of core/kernels. This header names no CUDA type; a build without CUDA throws DeviceError from each.
// Every function only enqueues on the context's stream and allocates nothing, except make_..., which plan.
#pragma once

#include <cstddef>
#include <memory>

#include "millrace/core/context.h"
#include "millrace/core/kernels/batch_norm.h"
#include "millrace/core/kernels/gemm.h"
#include "millrace/core/kernels/images/channels.h"
#include "millrace/core/kernels/images/convolution.h"
#include "millrace/core/kernels/images/pooling.h"
#include "millrace/core/tensor.h"

namespace millrace::cuda {

// The most workspace that a library's algorithm may use, however much memory is free: the choice of an algorithm must
// not depend on free memory. Large convolutions may use more (CudnnConvolution::most_workspace).
inline constexpr size_t kWorkspaceBytes = size_t{32} << 20;

// REQUIRES: `spec` has been checked, and its leading dimensions are filled in.
std::unique_ptr<Gemm> make_gemm(Context& context, const GemmSpec& spec);

// The same for float32 if m, n or k is 1.
std::unique_ptr<Gemm> make_narrow_gemm(Context& context, const GemmSpec& spec);

// As in core/kernels/reduce.h, with the same scratch.
void column_sum(Context& context, ConstTensorView input, const Destination& destination, void* scratch);
void sum(Context& context, ConstTensorView values, void* result, double scale, void* scratch);
void square_sum(Context& context, ConstTensorView values, double* result, void* scratch);

// REQUIRES: `spec` has been checked.
std::unique_ptr<Convolution> make_convolution(Context& context, const ConvolutionSpec& spec,
                                              const ConvolutionOptions& options);

// As in core/kernels/images/channels.h.
void channel_sum(Context& context, const ChannelSpec& spec, const void* images, const Destination& sums, void* scratch);
size_t channel_sum_scratch(const ChannelSpec& spec);

// As in core/kernels/images/pooling.h.
void max_pool(Context& context, const PoolingSpec& spec, const ConstTensorView& x, const TensorView& y, int32_t* taken);
void average_pool(Context& context, const PoolingSpec& spec, const ConstTensorView& x, const TensorView& y);
void pool_gradient(Context& context, const PoolingSpec& spec, const int32_t* taken, const ConstTensorView& dy,
                   const Destination& dx);

// As in core/kernels/batch_norm.h.
size_t batch_norm_scratch(const BatchNormSpec& spec);
void batch_moments(Context& context, const BatchNormSpec& spec, ConstNormRows x, void* mean, void* variance,
                   void* scratch);
void batch_norm(Context& context, const BatchNormSpec& spec, ConstNormRows x, const NormParams& params, NormRows y);
void batch_norm_gradient(Context& context, const BatchNormSpec& spec, ConstNormRows x, ConstNormRows dy,
                         const NormParams& params, const BatchNormGradients& gradients, void* scratch);

}  // namespace millrace::cuda
