// FloatMode: the default floating-point mode on this thread until the end of the block, whatever mode the host has set:
// rounding to nearest, subnormal numbers kept, no traps. The host's mode and exception flags come back afterwards.
//
// Numbers are the same everywhere (P1) only in this mode. An Executor's threads have it; code that reads or computes
// numbers on a caller's own thread holds a FloatMode. The compiler may move arithmetic, but never a call, out of the
// function that holds it: hold it around calls.
#pragma once

#include <cfenv>

namespace millrace {

class FloatMode {
 public:
  // glibc's default environment covers SSE's control word too, with its flush-to-zero and denormals-are-zero bits.
  FloatMode() {
    std::fegetenv(&before_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~FloatMode() { std::fesetenv(&before_); }
  FloatMode(const FloatMode&) = delete;
  FloatMode& operator=(const FloatMode&) = delete;

 private:
  std::fenv_t before_{};
};

}  // namespace millrace
