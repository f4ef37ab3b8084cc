#include "millrace/core/parallel.h"

#include "millrace/core/cuda/check.h"
#include "millrace/core/cuda/state.h"

namespace millrace::cuda {

void launch_at(State& state, int64_t blocks, int threads, const void* kernel, void** arguments,
               KernelLauncher launcher) {
  const DeviceGuard guard(state.device());
  const dim3 grid(static_cast<unsigned>(blocks)), block(static_cast<unsigned>(threads));
  check(launcher(kernel, grid, block, arguments, 0, state.stream()),
        {"cudaLaunchKernel(kernel, grid, block, arguments, 0, state.stream())", __FILE__, __LINE__});
}

}  // namespace millrace::cuda
