#include "millrace/core/context.h"

#include <cstring>

namespace millrace {

Context::Context(Device device, Executor& executor) : device_(device), executor_(executor) {
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

}  // namespace millrace
