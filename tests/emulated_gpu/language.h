// What nvcc's language has and C++ has not, for files that are compiled as C++ in builds with an emulated GPU: every
// such file includes this one first.
#pragma once

#include <cuda_runtime_api.h>

#include "tests/emulated_gpu/emulated_gpu.h"

#define MILLRACE_CUDA_UNIT

// One block runs at a time.
#define __launch_bounds__(...)
#undef __shared__
#define __shared__ static

#define threadIdx ::millrace::emulation::place.thread
#define blockIdx ::millrace::emulation::place.block
#define blockDim ::millrace::emulation::place.threads
#define gridDim ::millrace::emulation::place.blocks
#define __syncthreads ::millrace::emulation::synchronize_threads
// Goes on whenever somebody looks.
inline long long clock64() {
  static long long now = 0;
  return now += 100'000;
}

#define MILLRACE_CUB_STAND_IN "tests/emulated_gpu/cub.h"
#define MILLRACE_KERNEL_ADDRESS(kernel) ::millrace::emulation::address_of(kernel)
