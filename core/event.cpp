#include "millrace/core/event.h"

namespace millrace {

Event::Event(Device device) {
  if (!device.is_cpu()) cuda_ = cuda::make_event(device);
}

bool Event::finished() const { return !cuda_ || cuda::finished(*cuda_); }

void Event::synchronize() const {
  if (cuda_) cuda::synchronize(*cuda_);
}

}  // namespace millrace
