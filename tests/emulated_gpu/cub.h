// What stands in for CUB and libcu++ where the GPU is emulated: core/cuda/cub.cuh says what these functions do. Sums go
// from the first thread of a block to the last.
#pragma once

#include <algorithm>

namespace millrace::cuda {

struct JoinSpace {
  SumPair values[kMostLanes];
};

template <class V, class Add>
V join_threads(const V& own, const Add& add, JoinSpace& space) {
  static_assert(sizeof(V) <= sizeof(SumPair));
  auto* const values = reinterpret_cast<V*>(space.values);
  values[threadIdx.x] = own;
  __syncthreads();
  V joined = values[0];
  for (unsigned i = 1; i < blockDim.x; ++i) joined = add(joined, values[i]);
  __syncthreads();
  return joined;
}

// One thread runs at a time.
inline bool take_ticket(unsigned* at) {
  if (++*at != gridDim.x) return false;
  *at = 0;
  return true;
}

template <class Key>
void sort_keys(cudaStream_t stream, const Key* from, Key* to, int64_t count, void* scratch, size_t& bytes) {
  if (scratch == nullptr) {
    bytes = 1;
    return;
  }
  MILLRACE_CUDA_CHECK(emulation::enqueue(stream, [=] {
    std::copy_n(from, count, to);
    std::sort(to, to + count);
  }));
}

}  // namespace millrace::cuda
