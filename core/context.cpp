#include "millrace/core/context.h"

#include <sys/mman.h>

#include <charconv>
#include <cstdlib>
#include <cstring>

#include "millrace/core/cuda/backend.h"
#include "millrace/core/errors.h"
#include "millrace/core/event.h"
#include "millrace/core/tensor.h"
#include "millrace/core/text.h"

namespace millrace {

std::string Device::text() const { return is_cpu() ? "cpu" : cat("cuda:", index); }

CudaStatus cuda_status() { return cuda::status(); }

Device parse_device(std::string_view text, std::string* warning, const CudaNeeds& needs) {
  if (warning != nullptr) warning->clear();
  if (text == "cpu") return Device::cpu();
  if (text == "auto") {
    CudaStatus found = cuda::status();
    if (!found.usable.empty()) {
      std::string missing = cuda::missing_library(needs);
      if (!missing.empty()) found = {.usable = {}, .reason = std::move(missing), .worth_telling = true};
    }
    return automatic_device(found, warning);
  }
  int index = 0;
  const std::string_view digits = text == "cuda" ? "0" : text.substr(0, 5) == "cuda:" ? text.substr(5) : "";
  const auto [end, failure] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
  if (digits.empty() || index < 0 || failure != std::errc() || end != digits.data() + digits.size()) {
    throw ConfigError(cat("unknown device ", quote(text)), {}, "use auto, cpu or cuda:0");
  }
  const Device device = Device::cuda(index);
  if (const std::string reason = cuda::unusable(device); !reason.empty()) {
    throw DeviceError(cat(device.text(), " cannot be used: ", reason), {}, "use device: auto or cpu");
  }
  return device;
}

Device automatic_device(const CudaStatus& found, std::string* warning) {
  if (!found.usable.empty()) return Device::cuda(found.usable.front());
  if (warning != nullptr && found.worth_telling) *warning = cat("device: auto takes the CPU: ", found.reason);
  return Device::cpu();
}

namespace {

// Blocks of this size or more come from the system, which gives zeros, and whose pages take no memory until they are
// touched. So a check of a configuration takes little memory, however large the batches are.
constexpr size_t kMappedBytes = size_t{64} << 20;

// Zeros; null if there is not enough memory.
void* allocate_zeros(size_t bytes) {
  if (bytes >= kMappedBytes) {
    void* const mapped = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return mapped == MAP_FAILED ? nullptr : mapped;
  }
  void* const allocated = std::aligned_alloc(kRowAlignment, aligned_bytes(bytes));
  return allocated == nullptr ? nullptr : std::memset(allocated, 0, bytes);
}

void free_zeros(void* data, size_t bytes) {
  if (bytes >= kMappedBytes) {
    ::munmap(data, bytes);
  } else {
    std::free(data);
  }
}

}  // namespace

Memory::Memory(Device device, size_t bytes) : bytes_(bytes), device_(device) {
  if (bytes == 0) return;
  if (device.is_cpu()) {
    data_ = allocate_zeros(bytes);
    if (data_ == nullptr) throw InternalError(cat("out of memory: ", bytes, " bytes on cpu"));
  } else {
    data_ = cuda::allocate(device, bytes);
  }
}

Memory Memory::pinned(Device reader, size_t bytes) {
  if (reader.is_cpu()) return Memory(reader, bytes);
  Memory memory;
  memory.bytes_ = bytes;
  memory.pinned_for_ = reader;
  if (bytes > 0) {
    memory.data_ = cuda::allocate_pinned(reader, bytes);
    std::memset(memory.data_, 0, bytes);
  }
  return memory;
}

void Memory::swap(Memory& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  std::swap(device_, other.device_);
  std::swap(pinned_for_, other.pinned_for_);
}

Memory::~Memory() {
  if (data_ == nullptr) return;
  if (!pinned_for_.is_cpu()) {
    cuda::free_pinned(pinned_for_, data_);
  } else if (device_.is_cpu()) {
    free_zeros(data_, bytes_);
  } else {
    cuda::free(device_, data_);
  }
}

Event::Event(Device device) {
  if (!device.is_cpu()) cuda_ = cuda::make_event(device);
}

bool Event::finished() const { return !cuda_ || cuda::finished(*cuda_); }

void Event::synchronize() const {
  if (cuda_) cuda::synchronize(*cuda_);
}

Context::Context(Device device, Executor& executor, Precision precision)
    : device_(device), precision_(precision), executor_(executor) {
  if (!device.is_cpu()) cuda_ = cuda::make_state(device);
}

void Context::copy(void* destination, const void* source, size_t bytes) {
  if (bytes == 0) return;
  if (device_.is_cpu()) {
    std::memcpy(destination, source, bytes);
  } else {
    cuda::copy(*cuda_, destination, source, bytes);
  }
}

void Context::copy_async(void* destination, const void* source, size_t bytes) {
  if (device_.is_cpu()) {
    copy(destination, source, bytes);
  } else if (bytes > 0) {
    cuda::copy_async(*cuda_, destination, source, bytes);
  }
}

void Context::fill_zero(void* destination, size_t bytes) {
  if (bytes == 0) return;
  if (device_.is_cpu()) {
    std::memset(destination, 0, bytes);
  } else {
    cuda::fill_zero(*cuda_, destination, bytes);
  }
}

void Context::synchronize() {
  if (!device_.is_cpu()) cuda::synchronize(*cuda_);
}

void Context::drain() noexcept {
  try {
    synchronize();
  } catch (const Error&) {
    // A device that failed does no more work.
  }
}

void Context::record(Event& event) {
  if (!device_.is_cpu()) cuda::record(*event.cuda_, *cuda_);
}

void Context::wait_for(const Event& event) {
  if (device_.is_cpu()) {
    event.synchronize();
  } else if (event.cuda_) {
    cuda::wait(*cuda_, *event.cuda_);
  }
}

}  // namespace millrace
