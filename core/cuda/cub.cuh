// How the threads of a block join their values, by CUB, and how a block knows that it is the last of its grid, by
// libcu++. No other file includes these libraries.
//
// nvcc compiles the real ones. MILLRACE_CUB_STAND_IN names a header with the same functions for a compiler of C++.
#pragma once

#include <cstddef>
#include <cstdint>

#include "millrace/core/lanes.h"

#if defined(MILLRACE_CUB_STAND_IN)
#include MILLRACE_CUB_STAND_IN
#else

#include <cub/warp/warp_reduce.cuh>
#include <cuda/atomic>

namespace millrace::cuda {

inline constexpr int kWarp = 32;

// Shared memory for join_threads().
struct JoinSpace {
  struct alignas(16) Place {
    std::byte bytes[sizeof(SumPair)];
  };
  Place warps[kMostLanes / kWarp], values[kMostLanes / kWarp];
};

// The values of a block's threads, joined by add(a, b) in an order that their number decides, for all of them.
// REQUIRES: whole warps, all of whose threads come here.
template <class V, class Add>
__device__ V join_threads(const V& own, const Add& add, JoinSpace& space) {
  using Reduce = cub::WarpReduce<V>;
  static_assert(sizeof(V) <= sizeof(JoinSpace::Place) &&
                sizeof(typename Reduce::TempStorage) <= sizeof(JoinSpace::Place));
  const unsigned warp = threadIdx.x / kWarp, warps = blockDim.x / kWarp;
  auto& memory = reinterpret_cast<typename Reduce::TempStorage&>(space.warps[warp]);
  const V of_warp = Reduce(memory).Reduce(own, add);
  const auto value_of = [&space](unsigned i) -> V& { return reinterpret_cast<V&>(space.values[i]); };
  if (threadIdx.x % kWarp == 0) value_of(warp) = of_warp;
  __syncthreads();
  V joined = value_of(0);
  for (unsigned i = 1; i < warps; ++i) joined = add(joined, value_of(i));
  __syncthreads();  // before another call writes there
  return joined;
}

// For one thread of each block, once a launch: whether all other blocks of the grid came here before. The thread then
// sees everything that their threads had written when they came. The ticket is 0 before a launch and after it.
__device__ inline bool take_ticket(unsigned* at) {
  const ::cuda::atomic_ref<unsigned, ::cuda::thread_scope_device> ticket(*at);
  if (ticket.fetch_add(1, ::cuda::memory_order_acq_rel) + 1 != gridDim.x) return false;
  ticket.store(0, ::cuda::memory_order_relaxed);
  return true;
}

}  // namespace millrace::cuda

#endif
