#include "tests/support/allocation_counter.h"

#include <atomic>
#include <cerrno>
#include <cstddef>

#include "millrace/core/library_call.h"

extern "C" {
void* __libc_malloc(size_t bytes);
void* __libc_calloc(size_t count, size_t bytes);
void* __libc_realloc(void* old, size_t bytes);
void* __libc_memalign(size_t alignment, size_t bytes);
}

namespace {

std::atomic<bool> counting{false};
std::atomic<int64_t> own{0}, library{0};

void count() {
  if (!counting.load(std::memory_order_relaxed)) return;
  (millrace::LibraryCall::active() ? library : own).fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

extern "C" {
void* malloc(size_t bytes) {
  count();
  return __libc_malloc(bytes);
}
void* calloc(size_t number, size_t bytes) {
  count();
  return __libc_calloc(number, bytes);
}
void* realloc(void* old, size_t bytes) {
  count();
  return __libc_realloc(old, bytes);
}
void* memalign(size_t alignment, size_t bytes) {
  count();
  return __libc_memalign(alignment, bytes);
}
void* aligned_alloc(size_t alignment, size_t bytes) {
  count();
  return __libc_memalign(alignment, bytes);
}
int posix_memalign(void** result, size_t alignment, size_t bytes) {
  count();
  *result = __libc_memalign(alignment, bytes);
  return *result != nullptr ? 0 : ENOMEM;
}
}

namespace millrace::testing {

void start_counting() {
  own = 0;
  library = 0;
  counting = true;
}

AllocationCounts stop_counting() {
  counting = false;
  return {own.load(), library.load()};
}

}  // namespace millrace::testing
