// Tells the sanitizers which stack a thread of the host is on.
#pragma once

#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#elif defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

namespace millrace::emulation {

#if defined(__SANITIZE_ADDRESS__)

class FiberMark {
 public:
  void create() {}
  void destroy() {}
  // Before a switch to `next`, whose stack is given unless it is known from where it left; `ended`: this one never
  // comes back.
  void leave_for(FiberMark& next, const void* stack, size_t bytes, bool ended = false) {
    if (stack != nullptr) next.stack_ = stack, next.bytes_ = bytes;
    next.from_ = this;
    __sanitizer_start_switch_fiber(ended ? nullptr : &fake_stack_, next.stack_, next.bytes_);
  }
  // First thing after a switch to this one.
  void arrived() {
    const void* stack = nullptr;
    size_t bytes = 0;
    __sanitizer_finish_switch_fiber(fake_stack_, &stack, &bytes);
    fake_stack_ = nullptr;
    if (from_->stack_ == nullptr) from_->stack_ = stack, from_->bytes_ = bytes;
  }

 private:
  void* fake_stack_ = nullptr;
  const void* stack_ = nullptr;
  size_t bytes_ = 0;
  FiberMark* from_ = nullptr;
};

#elif defined(__SANITIZE_THREAD__)

class FiberMark {
 public:
  void create() { fiber_ = __tsan_create_fiber(0); }
  void destroy() { __tsan_destroy_fiber(fiber_); }
  void leave_for(FiberMark& next, const void*, size_t, bool = false) {
    if (fiber_ == nullptr) fiber_ = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(next.fiber_, 0);
  }
  void arrived() {}

 private:
  void* fiber_ = nullptr;
};

#else

class FiberMark {
 public:
  void create() {}
  void destroy() {}
  void leave_for(FiberMark&, const void*, size_t, bool = false) {}
  void arrived() {}
};

#endif

#if defined(__SANITIZE_ADDRESS__)
inline void forbid(const void* data, size_t bytes) { __asan_poison_memory_region(data, bytes); }
inline void allow(const void* data, size_t bytes) { __asan_unpoison_memory_region(data, bytes); }
#else
inline void forbid(const void*, size_t) {}
inline void allow(const void*, size_t) {}
#endif

}  // namespace millrace::emulation
