// FloatMode: the default floating-point mode on this thread until the end of the block, whatever mode the host has set:
// rounding to nearest, subnormal numbers kept, no traps. The host's mode and exception flags come back afterwards.
//
// Numbers are the same everywhere (P1) only in this mode. An Executor's threads have it; code that reads or computes
// numbers on a caller's own thread holds a FloatMode. The compiler may move arithmetic, but never a call, out of the
// function that holds it: hold it around calls.
#pragma once

#include <cfenv>
#include <cstdint>

namespace millrace {

class FloatMode {
 public:
#if defined(__x86_64__)
  // fegetenv() and fesetenv() save and load all of the x87, which takes a third of a small prediction. Nothing here
  // computes with the x87, but the C library asks it for the rounding.
  FloatMode() : sse_(__builtin_ia32_stmxcsr()) {
    __asm__ volatile("fnstcw %0" : "=m"(x87_));
    set(0x1f80, 0x37f);
  }
  ~FloatMode() { set(sse_, x87_); }
#else
  FloatMode() {
    std::fegetenv(&before_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~FloatMode() { std::fesetenv(&before_); }
#endif
  FloatMode(const FloatMode&) = delete;
  FloatMode& operator=(const FloatMode&) = delete;

 private:
#if defined(__x86_64__)
  static void set(uint32_t sse, uint16_t x87) {
    __builtin_ia32_ldmxcsr(sse);
    __asm__ volatile("fldcw %0" : : "m"(x87));
  }

  uint32_t sse_;  // mode and flags
  uint16_t x87_;  // mode
#else
  std::fenv_t before_{};
#endif
};

}  // namespace millrace
