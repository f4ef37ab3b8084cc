#include "tests/support/allocation_counter.h"

#include <malloc.h>

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
void __libc_free(void* data);
}

namespace {

std::atomic<bool> counting{false};
std::atomic<int64_t> own{0}, library{0};
constinit thread_local int64_t until_failure = -1;  // negative: none fails
std::atomic<int64_t> until_any_failure{-1};

bool is_to_fail() {
  if (until_failure >= 0 && until_failure-- == 0) return true;
  return until_any_failure.load(std::memory_order_relaxed) >= 0 && !millrace::LibraryCall::active() &&
         until_any_failure.fetch_sub(1, std::memory_order_relaxed) == 0;
}

// False when this allocation is to fail.
bool count() {
  if (is_to_fail()) {
    errno = ENOMEM;  // as callers expect
    return false;
  }
  if (!counting.load(std::memory_order_relaxed)) return true;
  (millrace::LibraryCall::active() ? library : own).fetch_add(1, std::memory_order_relaxed);
  return true;
}

std::atomic<int64_t> held{0}, peak{0};

void* hold(void* data) {
  const auto bytes = static_cast<int64_t>(malloc_usable_size(data));
  const int64_t now = held.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  int64_t most = peak.load(std::memory_order_relaxed);
  while (now > most && !peak.compare_exchange_weak(most, now, std::memory_order_relaxed)) {
  }
  return data;
}

void release(void* data) { held.fetch_sub(static_cast<int64_t>(malloc_usable_size(data)), std::memory_order_relaxed); }

}  // namespace

// Libraries must see the replacements, although the build hides other names.
#pragma GCC visibility push(default)
extern "C" {
void* malloc(size_t bytes) { return count() ? hold(__libc_malloc(bytes)) : nullptr; }
void* calloc(size_t number, size_t bytes) { return count() ? hold(__libc_calloc(number, bytes)) : nullptr; }
void* realloc(void* old, size_t bytes) {
  if (!count()) return nullptr;
  const auto before = static_cast<int64_t>(malloc_usable_size(old));
  void* const data = __libc_realloc(old, bytes);
  // If there is no memory, the old block stays.
  if (data == nullptr && bytes > 0) return nullptr;
  held.fetch_sub(before, std::memory_order_relaxed);
  return hold(data);
}
void* memalign(size_t alignment, size_t bytes) { return count() ? hold(__libc_memalign(alignment, bytes)) : nullptr; }
void* aligned_alloc(size_t alignment, size_t bytes) {
  return count() ? hold(__libc_memalign(alignment, bytes)) : nullptr;
}
int posix_memalign(void** result, size_t alignment, size_t bytes) {
  *result = count() ? hold(__libc_memalign(alignment, bytes)) : nullptr;
  return *result != nullptr ? 0 : ENOMEM;
}
void free(void* data) {
  release(data);
  __libc_free(data);
}
}
#pragma GCC visibility pop

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

int64_t held_bytes() { return held.load(); }
int64_t peak_bytes() { return peak.load(); }
void begin_peak() { peak = held.load(); }

void fail_allocation(int64_t number) { until_failure = number; }

bool allocation_failed() { return std::exchange(until_failure, -1) < 0; }

void fail_any_allocation(int64_t number) { until_any_failure = number; }

bool any_allocation_failed() { return until_any_failure.exchange(-1) < 0; }

}  // namespace millrace::testing
