// sort.h on CUDA.
#include "millrace/core/kernels/sort.h"

#include "millrace/core/cuda/cub.cuh"
#include "millrace/core/cuda/kernels.h"
#include "millrace/core/cuda/state.h"

namespace millrace::cuda {

size_t sort_scratch(Device device, int64_t count) {
  const DeviceGuard guard(device.index);
  const uint64_t* const from = nullptr;
  uint64_t* const to = nullptr;
  size_t bytes = 0;
  sort_keys(cudaStream_t{}, from, to, count, nullptr, bytes);
  return bytes;
}

void sort_keys(Context& context, const uint64_t* from, uint64_t* to, int64_t count, void* scratch) {
  State& state = context.cuda();
  const DeviceGuard guard(state.device());
  size_t bytes = cuda::sort_scratch(context.device(), count);
  sort_keys(state.stream(), from, to, count, scratch, bytes);
}

}  // namespace millrace::cuda
