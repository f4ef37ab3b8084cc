// launch_for_each: body(i) for every i in [0, count) as one kernel on the state's stream; core/parallel.h calls it.
//
// It only enqueues: no allocation, no synchronisation, may be captured. A launch that fails throws DeviceError; what
// fails inside the kernel is thrown by the next call that waits.
#pragma once

#include <algorithm>
#include <cstdint>

#include "millrace/core/cuda/check.h"
#include "millrace/core/cuda/state.h"
#include "millrace/core/hd.h"

namespace millrace::cuda {

inline constexpr int kLaunchThreads = 256;
// The largest grid that a GPU takes; what lies beyond is reached by striding.
inline constexpr int64_t kLaunchBlocks = (int64_t{1} << 31) - 1;

template <class F>
__global__ void __launch_bounds__(kLaunchThreads) for_each_kernel(int64_t count, const F body) {
  const int64_t stride = static_cast<int64_t>(gridDim.x) * kLaunchThreads;
  MILLRACE_ROLLED
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * kLaunchThreads + threadIdx.x; i < count; i += stride) body(i);
}

// Launches `kernel`, a for_each_kernel, with the addresses of its arguments.
inline void launch_kernel(State& state, int64_t count, const void* kernel, void** arguments) {
  const int64_t blocks = std::min((count + kLaunchThreads - 1) / kLaunchThreads, kLaunchBlocks);
  const DeviceGuard guard(state.device());
  MILLRACE_CUDA_CHECK(cudaLaunchKernel(kernel, dim3(static_cast<unsigned>(blocks)), dim3(kLaunchThreads), arguments, 0,
                                       state.stream()));
}

// REQUIRES: 0 < count <= 2^40.
template <class F>
void launch_for_each(State& state, int64_t count, const F& body) {
  void* arguments[] = {&count, const_cast<F*>(&body)};
  launch_kernel(state, count, reinterpret_cast<const void*>(for_each_kernel<F>), arguments);
}

}  // namespace millrace::cuda
