// Devices, errors and the driver.
#include <cuda.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tests/emulated_gpu/fault.h"
#include "tests/emulated_gpu/memory.h"
#include "tests/emulated_gpu/runtime.h"

namespace millrace::emulation {

namespace {

thread_local int thread_device = 0;
thread_local cudaError_t last_error = cudaSuccess;
std::array<bool, kMostDevices> active_devices{};
int plan_failure = 0;

struct NamedError {
  cudaError_t error;
  const char *name, *text;
};
#define MILLRACE_ERROR(name, text) \
  { name, #name, text }
constexpr NamedError kErrors[] = {
    MILLRACE_ERROR(cudaSuccess, "no error"),
    MILLRACE_ERROR(cudaErrorInvalidValue, "invalid argument"),
    MILLRACE_ERROR(cudaErrorMemoryAllocation, "out of memory"),
    MILLRACE_ERROR(cudaErrorInvalidDevice, "invalid device ordinal"),
    MILLRACE_ERROR(cudaErrorInvalidResourceHandle, "invalid resource handle"),
    MILLRACE_ERROR(cudaErrorInvalidConfiguration, "invalid configuration argument"),
    MILLRACE_ERROR(cudaErrorNotReady, "device not ready"),
    MILLRACE_ERROR(cudaErrorNoDevice, "no CUDA-capable device is detected"),
    MILLRACE_ERROR(cudaErrorIllegalAddress, "an illegal memory access was encountered"),
    MILLRACE_ERROR(cudaErrorNoKernelImageForDevice, "no kernel image is available for execution on the device"),
    MILLRACE_ERROR(cudaErrorNotSupported, "operation not supported"),
    MILLRACE_ERROR(cudaErrorStreamCaptureUnsupported, "operation not permitted when stream is capturing"),
    MILLRACE_ERROR(cudaErrorStreamCaptureInvalidated, "operation failed due to a previous error during capture"),
    MILLRACE_ERROR(cudaErrorStreamCaptureUnjoined, "capturing stream has unjoined work"),
    MILLRACE_ERROR(cudaErrorStreamCaptureIsolation, "dependency created on uncaptured work in another stream"),
};

const NamedError* find(cudaError_t error) {
  for (const NamedError& named : kErrors) {
    if (named.error == error) return &named;
  }
  return nullptr;
}

CUresult CUDAAPI context_state(CUdevice device, unsigned* flags, int* active) {
  const std::lock_guard lock(device_lock());
  if (device < 0 || device >= device_count()) return CUDA_ERROR_INVALID_DEVICE;
  *flags = 0;
  *active = is_active(device) ? 1 : 0;
  return CUDA_SUCCESS;
}

}  // namespace

void violation(const std::string& rule) {
  std::fprintf(stderr, "emulated GPU: a rule was broken: %s\n", rule.c_str());
  std::abort();
}

Counters& count() {
  static Counters counters;
  return counters;
}

Counters counters() {
  const std::lock_guard lock(device_lock());
  return count();
}

void count_library_call() {
  const std::lock_guard lock(device_lock());
  ++count().library_calls;
}

void fail_next_plan(int status) {
  const std::lock_guard lock(device_lock());
  plan_failure = status;
}

int take_plan_failure() {
  const std::lock_guard lock(device_lock());
  return std::exchange(plan_failure, 0);
}

cudaError_t returned(cudaError_t error) {
  if (error != cudaSuccess) last_error = error;
  return error;
}

int device_count() {
  static const int count = [] {
    const char* const text = std::getenv("MILLRACE_EMULATED_GPUS");
    const int wanted = text != nullptr ? std::atoi(text) : 0;
    return wanted < kMostDevices ? wanted : kMostDevices;
  }();
  return count;
}

int current_device() { return thread_device; }
bool is_active(int device) { return active_devices[static_cast<size_t>(device)]; }
void activate(int device) { active_devices[static_cast<size_t>(device)] = true; }

}  // namespace millrace::emulation

using namespace millrace::emulation;

extern "C" {

cudaError_t cudaDriverGetVersion(int* version) {
  *version = device_count() > 0 ? CUDART_VERSION : 0;
  return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int* devices) {
  *devices = device_count();
  return *devices > 0 ? cudaSuccess : returned(cudaErrorNoDevice);
}

cudaError_t cudaGetDevice(int* device) {
  *device = current_device();
  return cudaSuccess;
}

cudaError_t cudaSetDevice(int device) {
  const std::lock_guard lock(device_lock());
  if (device < 0 || device >= device_count()) return returned(cudaErrorInvalidDevice);
  thread_device = device;
  activate(device);
  return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  if (device < 0 || device >= device_count()) return returned(cudaErrorInvalidDevice);
  switch (attribute) {
    case cudaDevAttrComputeCapabilityMajor: *value = 9; return cudaSuccess;
    case cudaDevAttrComputeCapabilityMinor: *value = 0; return cudaSuccess;
    case cudaDevAttrMultiProcessorCount: *value = 132; return cudaSuccess;
    case cudaDevAttrMemoryPoolsSupported: *value = 1; return cudaSuccess;
    default: return returned(cudaErrorInvalidValue);
  }
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  if (device < 0 || device >= device_count()) return returned(cudaErrorInvalidDevice);
  *properties = {};
  std::snprintf(properties->name, sizeof properties->name, "emulated GPU");
  properties->major = 9;
  properties->multiProcessorCount = 132;
  return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize() {
  const std::lock_guard lock(device_lock());
  ++count().device_waits;
  for (const auto& stream : busy_streams()) {
    if (stream->device() == current_device()) stream->finish();
  }
  return sticky_error();
}

cudaError_t cudaGetLastError() { return std::exchange(last_error, cudaSuccess); }
cudaError_t cudaPeekAtLastError() { return last_error; }

const char* cudaGetErrorName(cudaError_t error) {
  const NamedError* const named = find(error);
  return named != nullptr ? named->name : "cudaErrorUnknown";
}
const char* cudaGetErrorString(cudaError_t error) {
  const NamedError* const named = find(error);
  return named != nullptr ? named->text : "unknown error";
}

cudaError_t cudaGetDriverEntryPointByVersion(const char* symbol, void** function, unsigned, unsigned long long,
                                             cudaDriverEntryPointQueryResult* found) {
  const bool known = device_count() > 0 && std::strcmp(symbol, "cuDevicePrimaryCtxGetState") == 0;
  *function = known ? reinterpret_cast<void*>(&context_state) : nullptr;
  *found = known ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
  return cudaSuccess;
}

}  // extern "C"
