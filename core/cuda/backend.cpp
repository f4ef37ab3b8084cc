#include "millrace/core/cuda/backend.h"

#include <cuda_runtime_api.h>

#include <cstdlib>

#include "millrace/core/cuda/check.h"
#include "millrace/core/cuda/state.h"
#include "millrace/core/cuda/toolkit.h"
#include "millrace/core/errors.h"
#include "millrace/core/text.h"

namespace millrace::cuda {

namespace {

// Up to this size the driver takes a copy of pageable host memory before the call returns.
constexpr size_t kStagedBytes = 64 * 1024;

std::string release(int version) { return cat(version / 1000, '.', version % 1000 / 10); }

std::string no_devices(cudaError_t failure, int driver) {
  switch (failure) {
    case cudaErrorInsufficientDriver:
      return cat("the NVIDIA driver supports CUDA ", release(driver), ", this build needs ", release(CUDART_VERSION));
    case cudaSuccess:
    case cudaErrorNoDevice: {
      const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
      return visible == nullptr ? "the NVIDIA driver sees no GPU"
                                : cat("the NVIDIA driver sees no GPU (CUDA_VISIBLE_DEVICES is ", quote(visible), ')');
    }
    default: return cat("the NVIDIA driver failed: ", cudaGetErrorString(failure));
  }
}

// The compute capability times 10, 0 when it cannot be read.
int capability(int device) {
  int major = 0, minor = 0;
  if (cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) != cudaSuccess ||
      cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device) != cudaSuccess) {
    static_cast<void>(cudaGetLastError());
  }
  return major * 10 + minor;
}

std::string tenths(int value) { return cat(value / 10, '.', value % 10); }

void require(Device device) {
  const CudaStatus found = status();
  if (device.index >= 0 && device.index < found.devices) return;
  throw DeviceError(cat(device.text(), " cannot be used: ",
                        found.devices == 0 ? found.reason : cat("there is only ", count_of(found.devices, "device"))),
                    {}, "use device: auto or cpu");
}

bool is_pageable(const void* data) {
  cudaPointerAttributes attributes{};
  MILLRACE_CUDA_CHECK(cudaPointerGetAttributes(&attributes, data));
  return attributes.type == cudaMemoryTypeUnregistered;
}

std::string out_of_memory(Device device, size_t bytes) {
  size_t free_bytes = 0, total = 0;
  if (cudaMemGetInfo(&free_bytes, &total) != cudaSuccess) static_cast<void>(cudaGetLastError());
  return cat("out of memory: ", bytes, " bytes on ", device.text(), ", where ", free_bytes, " of ", total, " are free");
}

}  // namespace

BuildInfo build_info() { return {true, toolkit_version()}; }

CudaStatus status() {
  int driver = 0;
  // Opens the driver's library and asks it for nothing else: a machine without one pays for a look at the file system.
  if (cudaDriverGetVersion(&driver) != cudaSuccess || driver == 0) {
    static_cast<void>(cudaGetLastError());
    return {0, "no NVIDIA driver was found (libcuda.so.1)"};
  }
  int count = 0;
  const cudaError_t failure = cudaGetDeviceCount(&count);
  if (failure != cudaSuccess || count == 0) {
    static_cast<void>(cudaGetLastError());
    return {0, no_devices(failure, driver)};
  }
  // The driver lists the fastest first, so an older GPU ends the list of usable ones.
  const int oldest = oldest_architecture();
  int usable = 0;
  while (usable < count && capability(usable) >= oldest) ++usable;
  if (usable > 0) return {usable, {}};
  return {0, cat("cuda:0 has compute capability ", tenths(capability(0)), ", this build needs ", tenths(oldest))};
}

void* allocate(Device device, size_t bytes) {
  require(device);
  const DeviceGuard guard(device.index);
  void* data = nullptr;
  if (!MILLRACE_CUDA_SUCCEEDED(cudaMalloc(&data, bytes), cudaErrorMemoryAllocation)) {
    throw DeviceError(out_of_memory(device, bytes), {}, "use a smaller batch_size, or another device");
  }
  try {
    MILLRACE_CUDA_CHECK(cudaMemsetAsync(data, 0, bytes, cudaStreamPerThread));
    MILLRACE_CUDA_CHECK(cudaStreamSynchronize(cudaStreamPerThread));
  } catch (...) {
    free(device, data);
    throw;
  }
  return data;
}

void free(Device device, void* data) noexcept {
  int before = 0;
  static_cast<void>(cudaGetDevice(&before));
  if (before != device.index) static_cast<void>(cudaSetDevice(device.index));
  static_cast<void>(cudaFree(data));
  if (before != device.index) static_cast<void>(cudaSetDevice(before));
}

void* allocate_pinned(size_t bytes) {
  void* data = nullptr;
  MILLRACE_CUDA_CHECK(cudaHostAlloc(&data, bytes, cudaHostAllocPortable));
  return data;
}

void free_pinned(void* data) noexcept { static_cast<void>(cudaFreeHost(data)); }

void StateDeleter::operator()(State* state) const noexcept { delete state; }

StatePointer make_state(Device device) {
  require(device);
  return StatePointer(new State(device));
}

void copy(State& state, void* destination, const void* source, size_t bytes) {
  const DeviceGuard guard(state.device());
  MILLRACE_CUDA_CHECK(cudaMemcpyAsync(destination, source, bytes, cudaMemcpyDefault, state.stream()));
  // Whether a copy of pageable memory has ended when the call returns is up to the driver, so it is waited for here.
  if (is_pageable(destination) || (bytes > kStagedBytes && is_pageable(source))) state.whole_stream().synchronize();
}

void fill_zero(State& state, void* destination, size_t bytes) {
  const DeviceGuard guard(state.device());
  MILLRACE_CUDA_CHECK(cudaMemsetAsync(destination, 0, bytes, state.stream()));
}

void synchronize(State& state) { state.whole_stream().synchronize(); }

}  // namespace millrace::cuda
