// launch_for_each: body(i) for every i in [0, count) as one kernel on the state's stream; core/parallel.h calls it.
//
// It only enqueues: no allocation, no synchronisation, may be captured. A launch that fails throws DeviceError; what
// fails inside the kernel is thrown by the next call that waits.
#pragma once

#include <algorithm>
#include <cstdint>

#include "millrace/core/cuda/check.h"
#include "millrace/core/cuda/state.h"

namespace millrace::cuda {

inline constexpr int kLaunchThreads = 256;
// The largest grid that a GPU takes; what lies beyond is reached by striding.
inline constexpr int64_t kLaunchBlocks = (int64_t{1} << 31) - 1;

template <class F>
__global__ void __launch_bounds__(kLaunchThreads) for_each_kernel(int64_t count, const F body) {
  const int64_t stride = static_cast<int64_t>(gridDim.x) * kLaunchThreads;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * kLaunchThreads + threadIdx.x; i < count; i += stride) body(i);
}

// REQUIRES: 0 < count <= 2^40.
template <class F>
void launch_for_each(State& state, int64_t count, const F& body) {
  const int64_t blocks = std::min((count + kLaunchThreads - 1) / kLaunchThreads, kLaunchBlocks);
  const DeviceGuard guard(state.device());
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(blocks));
  config.blockDim = dim3(kLaunchThreads);
  config.stream = state.stream();
  MILLRACE_CUDA_CHECK(cudaLaunchKernelEx(&config, for_each_kernel<F>, count, body));
}

}  // namespace millrace::cuda
