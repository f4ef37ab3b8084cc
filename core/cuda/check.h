// Checks of CUDA calls: MILLRACE_CUDA_CHECK(cudaMalloc(&data, bytes)) throws DeviceError that says what failed and
// where.
//
// A failure also clears the calling thread's last CUDA error, so that nobody else reports it again.
#pragma once

#include <cuda_runtime_api.h>

#include <string>

namespace millrace::cuda {

// Where a checked call stands: its text and `__FILE__`, `__LINE__`.
struct CallSite {
  const char* expression;
  const char* file;
  int line;
};

// "cudaMalloc(&data, bytes) at core/cuda/backend.cpp:31": the file without the folders of the build machine.
std::string describe(const CallSite& site);

[[noreturn]] void fail(cudaError_t status, const CallSite& site);

inline void check(cudaError_t status, const CallSite& site) {
  if (status != cudaSuccess) fail(status, site);
}

}  // namespace millrace::cuda

#define MILLRACE_CUDA_CHECK(expression) \
  ::millrace::cuda::check((expression), ::millrace::cuda::CallSite{#expression, __FILE__, __LINE__})
