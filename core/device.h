// Devices and their memory: Device names one, Memory owns a block on it.
//
// Memory is move-only, 64-byte aligned (256 on CUDA) and zero-filled when made. Pinned memory is on the host, where a
// CUDA device can copy from it while other work runs. Memory that a CUDA device uses, on it or pinned, is freed only
// after that work has ended (Context::synchronize, Event).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "millrace/core/export.h"

namespace millrace {

enum class DeviceType { cpu, cuda };

struct MILLRACE_EXPORT Device {
  DeviceType type = DeviceType::cpu;
  int index = 0;

  static Device cpu() { return {}; }
  static Device cuda(int index) { return {DeviceType::cuda, index}; }
  bool is_cpu() const { return type == DeviceType::cpu; }
  // "cpu", "cuda:0".
  std::string text() const;
  bool operator==(const Device&) const = default;
};

// The CUDA devices that can be used now.
struct CudaStatus {
  std::vector<int> usable;     // their numbers, the fastest first
  std::string reason;          // why none is usable: "this build has no CUDA support", "no driver", ...
  bool worth_telling = false;  // there is a driver or a device all the same
};
MILLRACE_EXPORT CudaStatus cuda_status();

// Which of CUDA's libraries a training needs, besides the one for products.
struct CudaNeeds {
  bool convolutions = false;
};

// "auto" (see automatic_device; a device whose libraries are missing is not usable), "cpu" or "cuda:N". Throws
// ConfigError for other text, DeviceError for a device that cannot be used. `warning`, if not null, receives the
// warning of automatic_device().
MILLRACE_EXPORT Device parse_device(std::string_view text, std::string* warning = nullptr, const CudaNeeds& needs = {});

// The first usable device, otherwise the CPU; `warning` then says why, unless there is simply no GPU.
MILLRACE_EXPORT Device automatic_device(const CudaStatus& found, std::string* warning);

class MILLRACE_EXPORT Memory {
 public:
  Memory() = default;
  // Zero-filled. Throws DeviceError, with the size, if there is not enough memory.
  Memory(Device device, size_t bytes);
  // Host memory that `reader` can copy from and to without staging; for the CPU it is ordinary memory. Throws
  // DeviceError.
  static Memory pinned(Device reader, size_t bytes);
  Memory(Memory&& other) noexcept { swap(other); }
  Memory& operator=(Memory&& other) noexcept {
    Memory(std::move(other)).swap(*this);
    return *this;
  }
  ~Memory();

  void* data() const { return data_; }
  size_t bytes() const { return bytes_; }
  // The device that the memory is on; the CPU for pinned memory.
  Device device() const { return device_; }
  explicit operator bool() const { return data_ != nullptr; }

 private:
  void swap(Memory& other) noexcept;

  void* data_ = nullptr;
  size_t bytes_ = 0;
  Device device_;
  Device pinned_for_ = Device::cpu();  // the CPU: not pinned
};

}  // namespace millrace
