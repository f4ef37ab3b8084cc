// Memory, copies and fills.
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "tests/emulated_gpu/fault.h"
#include "tests/emulated_gpu/memory.h"
#include "tests/emulated_gpu/runtime.h"

namespace millrace::emulation {

namespace {

// One side of a copy.
struct Side {
  const void* data = nullptr;
  bool on_device = false, pinned = false;
  std::shared_ptr<void> use = {};
};

Side side(const void* data, size_t bytes) {
  Side out{.data = data, .on_device = device_of(data) >= 0};
  if (out.on_device) {
    if (room_at(data) < bytes) violation("a copy or fill of " + std::to_string(bytes) + " bytes ends beyond its block");
    return out;
  }
  if (const size_t room = pinned_room_at(data); room > 0) {
    if (room < bytes) violation("a copy of " + std::to_string(bytes) + " bytes ends beyond its pinned block");
    out.pinned = true;
    out.use = use_pinned(data);
  }
  return out;
}

void wait_for_device(int device) {
  ++count().device_waits;
  for (const auto& stream : busy_streams()) {
    if (stream->device() == device) stream->finish();
  }
}

cudaError_t take(void** data, size_t bytes, bool stream_ordered) {
  if (const cudaError_t refused = refuse_in_capture(); refused != cudaSuccess) return refused;
  activate(current_device());
  ++count().allocations;
  if (!stream_ordered) ++count().device_waits;
  *data = take_memory(current_device(), bytes);
  return *data != nullptr ? cudaSuccess : returned(cudaErrorMemoryAllocation);
}

}  // namespace

void require_on_device(const void* data, size_t bytes, const char* what) {
  const std::lock_guard lock(device_lock());
  if (room_at(data) < bytes) violation(std::string(what) + " does not lie in a block of the device's memory");
}

}  // namespace millrace::emulation

using namespace millrace::emulation;

extern "C" {

cudaError_t cudaMalloc(void** data, size_t bytes) {
  const std::lock_guard lock(device_lock());
  return take(data, bytes, false);
}

cudaError_t cudaMallocAsync(void** data, size_t bytes, cudaStream_t stream) {
  const std::lock_guard lock(device_lock());
  if (stream_of(stream)->capture()) violation("memory is allocated in a graph");
  return take(data, bytes, true);
}

cudaError_t cudaFree(void* data) {
  const std::lock_guard lock(device_lock());
  if (const cudaError_t refused = refuse_in_capture(); refused != cudaSuccess) return refused;
  activate(current_device());
  if (data == nullptr) return cudaSuccess;
  const int device = device_of(data);
  if (device < 0) return returned(cudaErrorInvalidValue);
  wait_for_device(device);
  return give_memory(data) ? cudaSuccess : returned(cudaErrorInvalidValue);
}

cudaError_t cudaFreeAsync(void* data, cudaStream_t stream) {
  const std::lock_guard lock(device_lock());
  const auto on = stream_of(stream);
  if (on->capture()) violation("memory is freed in a graph");
  if (room_at(data) == 0) return returned(cudaErrorInvalidValue);
  const auto give = [data] {
    if (!give_memory(data)) violation("memory is freed twice");
  };
  // Nothing holds it up where nothing waits before it.
  if (on->idle()) {
    give();
  } else {
    on->give(give);
  }
  return cudaSuccess;
}

cudaError_t cudaHostAlloc(void** data, size_t bytes, unsigned) {
  const std::lock_guard lock(device_lock());
  if (const cudaError_t refused = refuse_in_capture(); refused != cudaSuccess) return refused;
  ++count().allocations;
  *data = take_pinned(bytes);
  return *data != nullptr ? cudaSuccess : returned(cudaErrorMemoryAllocation);
}

cudaError_t cudaFreeHost(void* data) {
  const std::lock_guard lock(device_lock());
  return give_pinned(data) ? cudaSuccess : returned(cudaErrorInvalidValue);
}

cudaError_t cudaMemGetInfo(size_t* free_bytes, size_t* total) {
  const std::lock_guard lock(device_lock());
  *free_bytes = free_memory(current_device());
  *total = total_memory();
  return cudaSuccess;
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* data) {
  const std::lock_guard lock(device_lock());
  ++count().pointer_queries;
  *attributes = {};
  attributes->device = device_of(data);
  attributes->type = attributes->device >= 0    ? cudaMemoryTypeDevice
                     : pinned_room_at(data) > 0 ? cudaMemoryTypeHost
                                                : cudaMemoryTypeUnregistered;
  return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void* destination, const void* source, size_t bytes, cudaMemcpyKind, cudaStream_t stream) {
  const std::lock_guard lock(device_lock());
  ++count().copies;
  const auto on = stream_of(stream);
  const Side to = side(destination, bytes), from = side(source, bytes);
  const bool pageable = !(to.on_device || to.pinned) || !(from.on_device || from.pinned);
  if (pageable && on->capture()) violation("a copy of pageable memory is captured");
  if (!from.on_device && !from.pinned) {
    // Taken now, as a real one does or waits.
    const auto* const begin = static_cast<const std::byte*>(source);
    on->give([to, taken = std::vector<std::byte>(begin, begin + bytes)] {
      std::memcpy(const_cast<void*>(to.data), taken.data(), taken.size());
    });
  } else {
    on->give([to, from, bytes] { std::memmove(const_cast<void*>(to.data), from.data, bytes); });
  }
  if (!to.on_device && !to.pinned) {
    ++count().host_spins;
    on->finish();
  }
  return sticky_error();
}

cudaError_t cudaMemsetAsync(void* data, int value, size_t bytes, cudaStream_t stream) {
  const std::lock_guard lock(device_lock());
  ++count().fills;
  const Side to = side(data, bytes);
  if (!to.on_device) violation("memory of the host is filled by a device");
  stream_of(stream)->give([data, value, bytes] { std::memset(data, value, bytes); });
  return cudaSuccess;
}

}  // extern "C"
