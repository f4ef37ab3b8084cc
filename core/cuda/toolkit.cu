// Facts about this build that only nvcc knows.
#include <algorithm>
#include <iterator>

#include "millrace/core/cuda/backend.h"

#define MILLRACE_TEXT_OF(value) #value
#define MILLRACE_TEXT(value) MILLRACE_TEXT_OF(value)

namespace millrace::cuda {

const char* toolkit_version() { return MILLRACE_TEXT(__CUDACC_VER_MAJOR__) "." MILLRACE_TEXT(__CUDACC_VER_MINOR__); }

int oldest_architecture() {
  constexpr int compiled[] = {__CUDA_ARCH_LIST__};
  return *std::min_element(std::begin(compiled), std::end(compiled)) / 10;
}

}  // namespace millrace::cuda
