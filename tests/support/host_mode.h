// HostMode: a floating-point mode that a host program might have set, until the end of the block.
#pragma once

#include <cfenv>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace millrace::test {

class HostMode {
 public:
  // `rounding` is FE_UPWARD or the like. With `flush`, subnormal numbers are taken and written as zero, where the
  // processor can.
  explicit HostMode(int rounding, bool flush = false) {
    std::fegetenv(&before_);
    std::fesetround(rounding);
#if defined(__x86_64__)
    if (flush) _mm_setcsr(_mm_getcsr() | _MM_FLUSH_ZERO_ON | _MM_DENORMALS_ZERO_ON);
#else
    static_cast<void>(flush);
#endif
  }
  ~HostMode() { std::fesetenv(&before_); }
  HostMode(const HostMode&) = delete;
  HostMode& operator=(const HostMode&) = delete;

  static std::vector<int> roundings() { return {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}; }
  // Whether a subnormal number comes out of a division of normal ones on this thread.
  static bool keeps_subnormals() {
    volatile double least = 2.2250738585072014e-308, two = 2;
    volatile double half = least / two;  // volatile, so that the division is not moved after the next change of the
                                         // mode
    return half != 0;
  }
  static bool can_flush() {
    const HostMode mode(FE_TONEAREST, true);
    return !keeps_subnormals();
  }

 private:
  std::fenv_t before_{};
};

}  // namespace millrace::test
