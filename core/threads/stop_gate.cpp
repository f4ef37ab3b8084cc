#include "millrace/core/threads/stop_gate.h"

#include <utility>

namespace millrace {

void StopGate::open(std::function<void()> stop) {
  stop_ = std::move(stop);
  const MutexLock lock(mutex_);
  open_ = true;
}

void StopGate::close() noexcept {
  const MutexLock lock(mutex_);
  open_ = false;
  while (inside_ > 0) mutex_.wait(left_);
}

void StopGate::stop() noexcept {
  {
    const MutexLock lock(mutex_);
    if (!open_) return;
    ++inside_;
  }
  stop_();
  const MutexLock lock(mutex_);
  if (--inside_ == 0) left_.notify_all();
}

}  // namespace millrace
