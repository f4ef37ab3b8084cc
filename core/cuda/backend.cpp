#include "millrace/core/cuda/backend.h"

#include <cuda_runtime_api.h>
#include <nvtx3/nvToolsExt.h>

#include <cstdlib>
#include <new>
#include <utility>

#include "millrace/core/cuda/check.h"
#include "millrace/core/cuda/cublaslt.h"
#include "millrace/core/cuda/cudnn.h"
#include "millrace/core/cuda/state.h"
#include "millrace/core/errors.h"
#include "millrace/core/text.h"

namespace millrace::cuda {

namespace {

// Up to this size the driver takes a copy of pageable host memory before the call returns.
constexpr size_t kStagedBytes = 64 * 1024;

std::string release(int version) { return cat(version / 1000, '.', version % 1000 / 10); }

// The devices that the driver shows, or why it shows none.
struct Shown {
  int devices = 0;
  std::string reason;
  bool worth_telling = false;
};

Shown no_devices(cudaError_t failure, int driver) {
  switch (failure) {
    case cudaErrorInsufficientDriver:
      return {0,
              cat("the NVIDIA driver supports CUDA ", release(driver), ", this build needs ", release(CUDART_VERSION)),
              true};
    case cudaSuccess:
    case cudaErrorNoDevice: {
      const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
      return {0, visible == nullptr
                     ? "the NVIDIA driver sees no GPU"
                     : cat("the NVIDIA driver sees no GPU (CUDA_VISIBLE_DEVICES is ", quote(visible), ')')};
    }
    default: return {0, cat("the NVIDIA driver failed: ", cudaGetErrorString(failure)), true};
  }
}

Shown shown_devices() {
  int driver = 0;
  // This call only opens the driver's library, so a machine without a driver loses no time.
  if (cudaDriverGetVersion(&driver) != cudaSuccess || driver == 0) {
    static_cast<void>(cudaGetLastError());
    return {0, "no NVIDIA driver was found (libcuda.so.1)"};
  }
  int count = 0;
  const cudaError_t failure = cudaGetDeviceCount(&count);
  if (failure == cudaSuccess && count > 0) return {count, {}};
  static_cast<void>(cudaGetLastError());
  return no_devices(failure, driver);
}

// 0 when it cannot be read.
int attribute(cudaDeviceAttr name, int device) {
  int value = 0;
  if (cudaDeviceGetAttribute(&value, name, device) != cudaSuccess) static_cast<void>(cudaGetLastError());
  return value;
}

int capability(int device) {
  return attribute(cudaDevAttrComputeCapabilityMajor, device) * 10 +
         attribute(cudaDevAttrComputeCapabilityMinor, device);
}

std::string tenths(int value) { return cat(value / 10, '.', value % 10); }

std::string misfit(int device) {
  const int has = capability(device), oldest = oldest_architecture();
  return has >= oldest ? "" : cat("it has compute capability ", tenths(has), ", this build needs ", tenths(oldest));
}

void require(Device device) {
  const std::string reason = unusable(device);
  if (reason.empty()) return;
  throw DeviceError(cat(device.text(), " cannot be used: ", reason), {}, "use device: auto or cpu");
}

// Some virtual GPUs have no pool.
bool has_pool(int device) { return attribute(cudaDevAttrMemoryPoolsSupported, device) != 0; }

bool is_pageable(const void* data) {
  cudaPointerAttributes attributes{};
  MILLRACE_CUDA_CHECK(cudaPointerGetAttributes(&attributes, data));
  return attributes.type == cudaMemoryTypeUnregistered;
}

// Copies of pageable memory must not be recorded: each launch would use an address that may no longer be valid.
bool is_recording(const State& state) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  MILLRACE_CUDA_CHECK(cudaStreamIsCapturing(state.stream(), &status));
  return status != cudaStreamCaptureStatusNone;
}

std::string out_of_memory(Device device, size_t bytes) {
  size_t free_bytes = 0, total = 0;
  if (cudaMemGetInfo(&free_bytes, &total) != cudaSuccess) static_cast<void>(cudaGetLastError());
  return cat("out of memory: ", bytes, " bytes on ", device.text(), ", where ", free_bytes, " of ", total, " are free");
}

// Null if no profiler is attached.
nvtxDomainHandle_t profiler() noexcept {
  static const nvtxDomainHandle_t made = nvtxDomainCreateA("millrace");
  return made;
}

}  // namespace

CudaStatus status() {
  const Shown shown = shown_devices();
  CudaStatus out = {.usable = {}, .reason = shown.reason, .worth_telling = shown.worth_telling};
  for (int device = 0; device < shown.devices; ++device) {
    if (const std::string reason = misfit(device); reason.empty()) {
      out.usable.push_back(device);
    } else if (out.reason.empty()) {
      out.reason = cat(Device::cuda(device).text(), " cannot be used: ", reason);
      out.worth_telling = true;
    }
  }
  if (!out.usable.empty()) return {.usable = std::move(out.usable), .reason = {}};
  return out;
}

std::string unusable(Device device) {
  const Shown shown = shown_devices();
  if (shown.devices == 0) return shown.reason;
  if (device.index >= 0 && device.index < shown.devices) return misfit(device.index);
  return cat("there is only ", count_of(shown.devices, "device"));
}

std::string missing_library(const CudaNeeds& needs) {
  try {
    CublasLt::open();
    if (needs.convolutions) const Cudnn opened;
    return {};
  } catch (const DeviceError& error) {
    return error.what();
  }
}

std::string name_of(Device device) {
  require(device);
  cudaDeviceProp properties{};
  MILLRACE_CUDA_CHECK(cudaGetDeviceProperties(&properties, device.index));
  return properties.name;
}

std::vector<std::string> library_versions(const CudaNeeds& needs) {
  const auto version = CublasLt::open().function<decltype(cublasLtGetVersion)>("cublasLtGetVersion");
  std::vector<std::string> out = {cat("cuBLASLt ", version())};
  if (needs.convolutions) out.push_back(cat("cuDNN ", Cudnn().get_version()));
  return out;
}

bool profiler_attached() noexcept { return profiler() != nullptr; }

void push_range(const char* name) noexcept {
  if (!profiler_attached()) return;
  nvtxEventAttributes_t range = {};
  range.version = NVTX_VERSION;
  range.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  range.messageType = NVTX_MESSAGE_TYPE_ASCII;
  range.message.ascii = name;
  nvtxDomainRangePushEx(profiler(), &range);
}

void pop_range() noexcept {
  if (profiler_attached()) nvtxDomainRangePop(profiler());
}

// The device's pool gives and takes memory in the order of a stream. This uses the thread's own stream, which has no
// other work, so it does not wait for the work of others as cudaMalloc() and cudaFree() do.
void* allocate(Device device, size_t bytes) {
  require(device);
  const DeviceGuard guard(device.index);
  void* data = nullptr;
  const bool enough =
      has_pool(device.index)
          ? MILLRACE_CUDA_SUCCEEDED(cudaMallocAsync(&data, bytes, cudaStreamPerThread), cudaErrorMemoryAllocation)
          : MILLRACE_CUDA_SUCCEEDED(cudaMalloc(&data, bytes), cudaErrorMemoryAllocation);
  if (!enough) {
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
  const DeviceGuard guard(device.index, std::nothrow);
  static_cast<void>(has_pool(device.index) ? cudaFreeAsync(data, cudaStreamPerThread) : cudaFree(data));
}

void* allocate_pinned(Device device, size_t bytes) {
  require(device);
  const DeviceGuard guard(device.index);
  void* data = nullptr;
  MILLRACE_CUDA_CHECK(cudaHostAlloc(&data, bytes, cudaHostAllocPortable));
  return data;
}

void free_pinned(Device device, void* data) noexcept {
  const DeviceGuard guard(device.index, std::nothrow);
  static_cast<void>(cudaFreeHost(data));
}

void StateDeleter::operator()(State* state) const noexcept { delete state; }

StatePointer make_state(Device device) {
  require(device);
  return StatePointer(new State(device));
}

void copy(State& state, void* destination, const void* source, size_t bytes) {
  const DeviceGuard guard(state.device());
  const bool to_pageable = is_pageable(destination), from_pageable = is_pageable(source);
  if ((to_pageable || from_pageable) && is_recording(state)) {
    throw DeviceError("a copy of memory that is not pinned cannot be recorded", {}, "use Memory::pinned");
  }
  copy_async(state, destination, source, bytes);
  // The driver may return before a copy of pageable memory has ended, so this waits for the copy.
  if (to_pageable || (bytes > kStagedBytes && from_pageable)) state.whole_stream().synchronize();
}

void copy_async(State& state, void* destination, const void* source, size_t bytes) {
  const DeviceGuard guard(state.device());
  MILLRACE_CUDA_CHECK(cudaMemcpyAsync(destination, source, bytes, cudaMemcpyDefault, state.stream()));
}

void fill_zero(State& state, void* destination, size_t bytes) {
  const DeviceGuard guard(state.device());
  MILLRACE_CUDA_CHECK(cudaMemsetAsync(destination, 0, bytes, state.stream()));
}

void synchronize(State& state) { state.whole_stream().synchronize(); }

void EventDeleter::operator()(Event* event) const noexcept { delete event; }

EventPointer make_event(Device device) {
  require(device);
  return EventPointer(new Event(device.index));
}

void record(Event& event, State& state) { event.record(state.whole_stream()); }
void wait(State& state, const Event& event) { event.wait_on(state.whole_stream()); }
bool finished(const Event& event) { return event.finished(); }
void synchronize(const Event& event) { event.synchronize(); }

}  // namespace millrace::cuda
