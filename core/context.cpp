#include "millrace/core/context.h"

#include <cstring>

#include "millrace/core/cuda/backend.h"
#include "millrace/core/errors.h"
#include "millrace/core/event.h"

namespace millrace {

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
    // A device that failed has nothing left to wait for.
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
