// Whether the tests and the programs that they run were built with a sanitizer. Sanitizers take time and address space,
// and end a process that runs out of memory.
#pragma once

namespace millrace::test {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#elif defined(__clang__)
inline constexpr bool kSanitized = __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
inline constexpr bool kSanitized = false;
#endif

// How often a test tries something with other values: under a sanitizer, which takes ten times as long, a tenth.
template <class T>
constexpr T rounds(T count) {
  return kSanitized ? (count + 9) / 10 : count;
}

}  // namespace millrace::test
