#include "tests/support/allocation_counter.h"

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <utility>

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
constinit thread_local int64_t until_failure = -1;  // negative: none fails

// False when this allocation is to fail.
bool count() {
  if (until_failure >= 0 && until_failure-- == 0) return false;
  if (!counting.load(std::memory_order_relaxed)) return true;
  (millrace::LibraryCall::active() ? library : own).fetch_add(1, std::memory_order_relaxed);
  return true;
}

}  // namespace

extern "C" {
void* malloc(size_t bytes) { return count() ? __libc_malloc(bytes) : nullptr; }
void* calloc(size_t number, size_t bytes) { return count() ? __libc_calloc(number, bytes) : nullptr; }
void* realloc(void* old, size_t bytes) { return count() ? __libc_realloc(old, bytes) : nullptr; }
void* memalign(size_t alignment, size_t bytes) { return count() ? __libc_memalign(alignment, bytes) : nullptr; }
void* aligned_alloc(size_t alignment, size_t bytes) { return count() ? __libc_memalign(alignment, bytes) : nullptr; }
int posix_memalign(void** result, size_t alignment, size_t bytes) {
  *result = count() ? __libc_memalign(alignment, bytes) : nullptr;
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

void fail_allocation(int64_t number) { until_failure = number; }

bool allocation_failed() { return std::exchange(until_failure, -1) < 0; }

}  // namespace millrace::testing
