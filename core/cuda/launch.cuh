// launch_for_each: body(i) for every i in [0, count) as one kernel on the state's stream; core/parallel.h calls it.
// launch_rows: the same for bodies whose index is shared by a block's threads, see core/lanes.h.
//
// They only enqueue: no allocation, no synchronisation, may be captured. A launch that fails throws DeviceError; what
// fails inside the kernel is thrown by the next call that waits.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "millrace/core/cuda/check.h"
#include "millrace/core/cuda/state.h"
#include "millrace/core/hd.h"
#include "millrace/core/lanes.h"

// What the runtime knows a kernel by.
#if !defined(MILLRACE_KERNEL_ADDRESS)
#define MILLRACE_KERNEL_ADDRESS(kernel) reinterpret_cast<const void*>(kernel)
#endif

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

// Launches the kernel of an address with the addresses of its arguments.
inline void launch_at(State& state, int64_t blocks, int threads, const void* kernel, void** arguments) {
  const DeviceGuard guard(state.device());
  MILLRACE_CUDA_CHECK(cudaLaunchKernel(kernel, dim3(static_cast<unsigned>(blocks)),
                                       dim3(static_cast<unsigned>(threads)), arguments, 0, state.stream()));
}

// kernel(arguments..) on the state's stream.
template <class... P>
void launch_kernel(State& state, int64_t blocks, int threads, void (*kernel)(P...),
                   std::type_identity_t<const P&>... arguments) {
  void* addresses[] = {const_cast<std::remove_const_t<P>*>(&arguments)...};
  launch_at(state, blocks, threads, MILLRACE_KERNEL_ADDRESS(kernel), addresses);
}

// REQUIRES: 0 < count <= 2^40.
template <class F>
void launch_for_each(State& state, int64_t count, const F& body) {
  const int64_t blocks = std::min((count + kLaunchThreads - 1) / kLaunchThreads, kLaunchBlocks);
  launch_kernel(state, blocks, kLaunchThreads, for_each_kernel<F>, count, body);
}

struct ThreadBlock {
  void* memory;

  __device__ int rank() const { return static_cast<int>(threadIdx.x); }
  __device__ int width() const { return static_cast<int>(blockDim.x); }
  __device__ void sync() const { __syncthreads(); }
  __device__ void* shared() const { return memory; }
};

template <class F>
__global__ void __launch_bounds__(kMostLanes) rows_kernel(int64_t rows, const F body) {
  __shared__ SumPair memory[kMostLanes];
  const ThreadBlock block{memory};
  const BlockLanes<ThreadBlock> lanes(block);
  MILLRACE_ROLLED
  for (int64_t row = blockIdx.x; row < rows; row += gridDim.x) body(row, lanes);
}

// REQUIRES: rows > 0.
template <class F>
void launch_rows(State& state, int64_t rows, int lanes, const F& body) {
  launch_kernel(state, std::min(rows, kLaunchBlocks), lanes, rows_kernel<F>, rows, body);
}

}  // namespace millrace::cuda
