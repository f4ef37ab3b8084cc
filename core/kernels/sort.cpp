#include "millrace/core/kernels/sort.h"

#include <algorithm>

#include "millrace/core/cuda/kernels.h"

namespace millrace {

size_t sort_scratch(Device device, int64_t count) { return device.is_cpu() ? 0 : cuda::sort_scratch(device, count); }

void sort_keys(Context& context, const uint64_t* from, uint64_t* to, int64_t count, void* scratch) {
  if (!context.device().is_cpu()) return cuda::sort_keys(context, from, to, count, scratch);
  std::copy_n(from, count, to);
  std::sort(to, to + count);
}

}  // namespace millrace
