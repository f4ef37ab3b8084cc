// The emulated GPU's stand-ins for CUB and libcu++: core/cuda/launch.cuh says what these functions do. Sums go from the
// first thread of a block to the last.
#pragma once

namespace millrace::cuda {

struct JoinSpace {
  SumPair values[kMostLanes];
};

template <class V, class Add>
V join_threads(const V& own, const Add& add, JoinSpace& space) {
  static_assert(sizeof(V) <= sizeof(SumPair));
  if (blockDim.x % 32 != 0) emulation::violation("join_threads() in a block that is not made of whole warps");
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

}  // namespace millrace::cuda
