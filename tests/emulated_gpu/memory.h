// Memory of the emulated devices, and pinned memory. All functions require the lock of the device (stream.h).
#pragma once

#include <cstddef>
#include <memory>

namespace millrace::emulation {

constexpr int kMostDevices = 4;

// While one lives, memory of the devices can be touched.
class MemoryOpen {
 public:
  MemoryOpen();
  ~MemoryOpen();
  MemoryOpen(const MemoryOpen&) = delete;
  MemoryOpen& operator=(const MemoryOpen&) = delete;
};

// Filled with NaN; null where there is not enough.
void* take_memory(int device, size_t bytes);
// False for what was never taken.
bool give_memory(void* data);
// Bytes from `data` to the end of the block that it lies in; 0 when it lies in none.
size_t room_at(const void* data);
// -1 when it is no device's.
int device_of(const void* data);
size_t free_memory(int device);
size_t total_memory();

void* take_pinned(size_t bytes);
bool give_pinned(void* data);
size_t pinned_room_at(const void* data);

// Marks pinned memory that a copy which waits in a stream reads or writes, for as long as the returned value lives.
std::shared_ptr<void> use_pinned(const void* data);

}  // namespace millrace::emulation
