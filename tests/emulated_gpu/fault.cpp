#include "tests/emulated_gpu/fault.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "tests/emulated_gpu/runtime.h"

namespace millrace::emulation {

namespace {

constexpr std::array<std::string_view, 4> kKinds = {"wrong", "crash", "hang", "sticky"};

struct Fault {
  std::string kind;
  int64_t kernels_before = 0;

  Fault() {
    const char* const text = std::getenv("MILLRACE_EMULATED_FAULT");
    if (text == nullptr) return;
    kind = text;
    const size_t at = kind.find('@');
    if (at == std::string::npos) violation("MILLRACE_EMULATED_FAULT is not KIND@N");
    char* end = nullptr;
    const int64_t first = std::strtoll(kind.c_str() + at + 1, &end, 10);
    if (first < 1 || *end != '\0') violation("MILLRACE_EMULATED_FAULT is KIND@N: N is a number from 1 on");
    kernels_before = first - 1;
    kind.resize(at);
    if (std::find(kKinds.begin(), kKinds.end(), kind) == kKinds.end()) {
      violation("MILLRACE_EMULATED_FAULT is KIND@N: KIND is wrong, crash, hang or sticky");
    }
  }
};

bool is_stuck = false;

}  // namespace

bool meets_no_fault() {
  static Fault fault;
  if (fault.kind.empty() || fault.kernels_before-- > 0) return true;
  if (fault.kind == "crash") violation("a planted crash");
  while (fault.kind == "hang") pause();
  is_stuck = is_stuck || fault.kind == "sticky";
  return false;
}

cudaError_t sticky_error() { return is_stuck ? returned(cudaErrorIllegalAddress) : cudaSuccess; }

}  // namespace millrace::emulation
