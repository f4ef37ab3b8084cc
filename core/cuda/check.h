// Checks of CUDA calls: MILLRACE_CUDA_CHECK(cudaMalloc(&data, bytes)) throws DeviceError that says what failed and
// where. Give it the call itself: its text is in the message.
//
// A failure also clears the calling thread's last CUDA error, so that nobody else reports it again.
#pragma once

#include <cuda_runtime_api.h>

#include <string>

#include "millrace/core/export.h"

namespace millrace::cuda {

// Where a checked call stands: its text and `__FILE__`, `__LINE__`.
struct CallSite {
  const char* expression;
  const char* file;
  int line;
};

// "cudaMalloc(&data, bytes) at core/cuda/backend.cpp:31": the file without the folders of the build machine.
MILLRACE_EXPORT std::string describe(const CallSite& site);

[[noreturn]] MILLRACE_EXPORT void fail(cudaError_t status, const CallSite& site);

inline void check(cudaError_t status, const CallSite& site) {
  if (status != cudaSuccess) fail(status, site);
}

// Whether the call succeeded; false when it failed with `expected`. Throws for any other failure.
inline bool succeeded(cudaError_t status, cudaError_t expected, const CallSite& site) {
  if (status == expected) static_cast<void>(cudaGetLastError());
  if (status != expected) check(status, site);
  return status == cudaSuccess;
}

}  // namespace millrace::cuda

#define MILLRACE_CUDA_CHECK(expression) \
  ::millrace::cuda::check((expression), ::millrace::cuda::CallSite{#expression, __FILE__, __LINE__})

#define MILLRACE_CUDA_SUCCEEDED(expression, expected) \
  ::millrace::cuda::succeeded((expression), (expected), ::millrace::cuda::CallSite{#expression, __FILE__, __LINE__})
