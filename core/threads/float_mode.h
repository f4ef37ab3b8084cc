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
  // glibc's default environment covers SSE's control word too, with its flush-to-zero and denormals-are-zero bits.
  FloatMode() : words_(Words::now()) {
    if (words_.are_default()) return;
    std::fegetenv(&before_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~FloatMode() {
    if (!words_.are_default()) {
      std::fesetenv(&before_);
    } else if (Words::now() != words_) {
      words_.put_back();
    }
  }
  FloatMode(const FloatMode&) = delete;
  FloatMode& operator=(const FloatMode&) = delete;

 private:
  // The registers with mode and flags. fegetenv() and fesetenv() save and load the whole state of the x87, which takes
  // longer than a small prediction.
  struct Words {
#if defined(__x86_64__)
    static constexpr uint32_t kSseFlags = 0x3f, kSseDefault = 0x1f80;
    static constexpr uint16_t kX87Flags = 0x3f, kX87Default = 0x37f;

    static Words now() {
      Words out;
      out.sse = __builtin_ia32_stmxcsr();
      __asm__ volatile("fnstcw %0" : "=m"(out.x87));
      __asm__ volatile("fnstsw %0" : "=m"(out.x87_status));
      out.x87_status &= kX87Flags;
      return out;
    }
    bool are_default() const { return (sse & ~kSseFlags) == kSseDefault && x87 == kX87Default; }
    void put_back() const {
      __builtin_ia32_ldmxcsr(sse);
      if (now() == *this) return;
      std::fenv_t all;
      std::fegetenv(&all);
      all.__control_word = x87;
      all.__status_word = static_cast<uint16_t>((all.__status_word & ~kX87Flags) | x87_status);
      std::fesetenv(&all);
    }

    uint32_t sse = 0;
    uint16_t x87 = 0, x87_status = 0;
#else
    static Words now() { return {}; }
    bool are_default() const { return false; }
    void put_back() const {}
#endif
    bool operator==(const Words&) const = default;
  };

  const Words words_;
  std::fenv_t before_{};  // only if the mode was another one
};

}  // namespace millrace
