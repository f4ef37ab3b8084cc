#include "tests/emulated_gpu/fault.h"

#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <string>

#include "tests/emulated_gpu/runtime.h"

namespace millrace::emulation {

namespace {

struct Fault {
  std::string kind;
  int64_t kernels_before = 0;

  Fault() {
    const char* const text = std::getenv("MILLRACE_EMULATED_FAULT");
    if (text == nullptr) return;
    kind = text;
    const size_t at = kind.find('@');
    if (at == std::string::npos) violation("MILLRACE_EMULATED_FAULT is not KIND@N");
    kernels_before = std::atoll(kind.c_str() + at + 1) - 1;
    kind.resize(at);
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
