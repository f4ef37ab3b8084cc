// The CUDA side of core/kernels. This header names no CUDA type; a build without CUDA throws DeviceError from each.
// Every function only enqueues on the context's stream and allocates nothing, except make_gemm, which plans.
#pragma once

#include <cstddef>
#include <memory>

#include "millrace/core/context.h"
#include "millrace/core/kernels/destination.h"
#include "millrace/core/kernels/gemm.h"
#include "millrace/core/tensor.h"

namespace millrace::cuda {

// What a product's algorithm may use at most, whatever memory is free: the choice must not depend on it.
inline constexpr size_t kGemmWorkspaceBytes = size_t{32} << 20;

// REQUIRES: `spec` has been checked, and its leading dimensions are filled in.
std::unique_ptr<Gemm> make_gemm(Context& context, const GemmSpec& spec);

// As in core/kernels/reduce.h, with the same scratch.
void column_sum(Context& context, ConstTensorView input, const Destination& destination, void* scratch);
void sum(Context& context, ConstTensorView values, void* result, double scale, void* scratch);
void square_sum(Context& context, ConstTensorView values, double* result, void* scratch);

}  // namespace millrace::cuda
