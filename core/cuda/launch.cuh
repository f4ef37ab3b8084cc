// The CUDA side of core/parallel.h, which includes it after the lanes; no other file includes it.
//
// launch_for_each: body(i) for every i in [0, count) as one kernel on the state's stream.
// launch_rows: the same for bodies whose index is shared by the lanes of a block.
// launch_columns: adds up, over the rows, what a body makes of each row and column.
//
// Threads of a block join their values with CUB; a block finds out with libcu++ whether it is the last of its grid. No
// other file includes these libraries. nvcc compiles the real ones; MILLRACE_CUB_STAND_IN names a header with the same
// functions for a compiler of C++.
//
// Launches only enqueue: they allocate nothing, synchronise nothing, and may be captured. A launch that fails throws
// DeviceError; for a failure inside the kernel, the next call that waits throws.
#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "millrace/core/export.h"
#include "millrace/core/kernels/reduce.h"

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

// Joins the values of a block's threads by add(a, b), in an order that their number decides; all threads get the
// result. REQUIRES: whole warps, and all threads of the block call it.
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
  __syncthreads();  // the next call writes there
  return joined;
}

// One thread of each block calls it, once in a launch: whether all other blocks of the grid called it before. If so,
// the thread sees everything that the callers had written before their calls. The ticket is 0 before a launch and after
// it.
__device__ inline bool take_ticket(unsigned* at) {
  const ::cuda::atomic_ref<unsigned, ::cuda::thread_scope_device> ticket(*at);
  if (ticket.fetch_add(1, ::cuda::memory_order_acq_rel) + 1 != gridDim.x) return false;
  ticket.store(0, ::cuda::memory_order_relaxed);
  return true;
}

}  // namespace millrace::cuda

#endif

// The address by which the runtime knows a kernel.
#if !defined(MILLRACE_KERNEL_ADDRESS)
#define MILLRACE_KERNEL_ADDRESS(kernel) reinterpret_cast<const void*>(kernel)
#endif

namespace millrace::cuda {

class State;

inline constexpr int kLaunchThreads = 256;
// The largest grid that a GPU takes; kernels reach the rest by striding.
inline constexpr int64_t kLaunchBlocks = (int64_t{1} << 31) - 1;

template <class F>
__global__ void __launch_bounds__(kLaunchThreads) for_each_kernel(int64_t count, const F body) {
  const int64_t stride = static_cast<int64_t>(gridDim.x) * kLaunchThreads;
  MILLRACE_ROLLED
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * kLaunchThreads + threadIdx.x; i < count; i += stride) body(i);
}

// The type of cudaLaunchKernel(). A plug-in has a CUDA runtime of its own, and no other runtime knows its kernels.
using KernelLauncher = cudaError_t (*)(const void* kernel, dim3 blocks, dim3 threads, void** arguments, size_t shared,
                                       cudaStream_t stream);

// Launches the kernel at an address, with the addresses of its arguments.
MILLRACE_EXPORT void launch_at(State& state, int64_t blocks, int threads, const void* kernel, void** arguments,
                               KernelLauncher launcher);

// kernel(arguments..) on the state's stream.
template <class... P>
void launch_kernel(State& state, int64_t blocks, int threads, void (*kernel)(P...),
                   std::type_identity_t<const P&>... arguments) {
  void* addresses[] = {const_cast<std::remove_const_t<P>*>(&arguments)...};
  launch_at(state, blocks, threads, MILLRACE_KERNEL_ADDRESS(kernel), addresses, cudaLaunchKernel);
}

// REQUIRES: 0 < count <= 2^40.
template <int64_t kMostBlocks = kLaunchBlocks, class F>
void launch_for_each(State& state, int64_t count, const F& body) {
  const int64_t blocks = std::min((count + kLaunchThreads - 1) / kLaunchThreads, kMostBlocks);
  launch_kernel(state, blocks, kLaunchThreads, for_each_kernel<F>, count, body);
}

// Shared by the lanes of a block.
struct BlockMemory {
  JoinSpace joins;
  bool is_last;
};

struct ThreadBlock {
  BlockMemory& memory;

  __device__ int rank() const { return static_cast<int>(threadIdx.x); }
  __device__ int width() const { return static_cast<int>(blockDim.x); }
  template <class V, class Add>
  __device__ V join(const V& own, const Add& add) const {
    return join_threads(own, add, memory.joins);
  }
  // Called once in a launch. Whether all other blocks of the grid called it before; if so, what their first threads had
  // written is visible.
  __device__ bool is_last(unsigned* ticket) const {
    if (rank() == 0) memory.is_last = take_ticket(ticket);
    __syncthreads();
    return memory.is_last;
  }
};

template <class F>
__global__ void __launch_bounds__(kMostLanes) rows_kernel(int64_t rows, const F body) {
  __shared__ BlockMemory memory;
  const ThreadBlock block{memory};
  const BlockLanes<ThreadBlock> lanes(block);
  MILLRACE_ROLLED
  for (int64_t row = blockIdx.x; row < rows; row += gridDim.x) body(row, lanes);
}

// REQUIRES: rows > 0; lanes is a multiple of 32, at most kMostLanes.
template <class F>
void launch_rows(State& state, int64_t rows, int lanes, const F& body) {
  launch_kernel(state, std::min(rows, kLaunchBlocks), lanes, rows_kernel<F>, rows, body);
}

// Both launches as one object; in tests another object, which runs the bodies on the host, takes its place.
struct Launcher {
  State& state;

  template <class F>
  void operator()(int64_t count, const F& body) const {
    launch_for_each(state, count, body);
  }
  // With the best number of lanes for a row of `columns` values.
  template <class F>
  void rows(int64_t count, int64_t columns, const F& body) const {
    launch_rows(state, count, lanes_for(columns), body);
  }
};

// A block adds up neighbouring columns (its tile) over some of the rows (its chunk). Several threads (lanes) share each
// column.
inline constexpr int kColumnTile = 32;       // unless a caller wants fewer
inline constexpr int kColumnThreads = 1024;  // at most
// Rows that a thread loads before it adds the first of them; fewer if sums are wide, as registers are few.
template <class T>
inline constexpr int kColumnAhead = sizeof(T) <= 8 ? 4 : 2;

// Rows of a chunk: all rows if they are few, else so few that every multiprocessor gets a block.
inline int64_t chunk_rows(int64_t rows, int64_t tiles) {
  constexpr int64_t kAtOnce = 512, kFewest = kSumRows, kBlocks = 128;  // the scratch has room for chunks of kFewest
  if (rows <= kAtOnce) return rows;
  int64_t chunk = kAtOnce;
  while (chunk > kFewest && tiles * ((rows + chunk - 1) / chunk) < kBlocks) chunk /= 2;
  return chunk;
}

// As many lanes as have something to do if each takes `ahead` rows; a power of 2.
inline int column_lanes(int64_t chunk, int ahead, int most) {
  int lanes = 1;
  while (lanes < most && lanes * ahead < chunk) lanes *= 2;
  return lanes;
}

// There are tiles * chunks blocks: all of the first chunk, then all of the next. If there is more than one chunk,
// sums go to `partial`, which is (chunks, columns).
template <class T, int kTile, class F>
__global__ void __launch_bounds__(kColumnThreads)
    columns_kernel(int64_t rows, int64_t columns, int64_t chunk, int64_t blocks, const F body, T* partial) {
  __shared__ T shares[kColumnThreads / kTile][kTile];
  constexpr int kAhead = kColumnAhead<T>;
  const int64_t tiles = (columns + kTile - 1) / kTile;
  const int at = static_cast<int>(threadIdx.x) % kTile, lane = static_cast<int>(threadIdx.x) / kTile;
  const int lanes = static_cast<int>(blockDim.x) / kTile;
  MILLRACE_ROLLED
  for (int64_t block = blockIdx.x; block < blocks; block += gridDim.x) {
    const int64_t column = block % tiles * kTile + at, first = block / tiles * chunk;
    const int64_t last = column >= columns ? 0 : rows < first + chunk ? rows : first + chunk;
    T total{};
    MILLRACE_ROLLED
    for (int64_t row = first + lane; row < last; row += kAhead * lanes) {
      // term() may store. All rows are loaded before that, so that one wait is enough.
      decltype(body.load(row, column)) loaded[kAhead];
      for (int i = 0; i < kAhead; ++i) {
        if (row + i * lanes < last) loaded[i] = body.load(row + i * lanes, column);
      }
      for (int i = 0; i < kAhead; ++i) {
        if (row + i * lanes < last) total += body.term(loaded[i], row + i * lanes, column);
      }
    }
    shares[lane][at] = total;
    for (int half = lanes / 2; half > 0; half /= 2) {
      __syncthreads();
      if (lane < half) shares[lane][at] += shares[lane + half][at];
    }
    if (lane == 0 && column < columns) {
      if (partial != nullptr) {
        partial[block / tiles * columns + column] = shares[0][at];
      } else {
        body.store(column, shares[0][at]);
      }
    }
    __syncthreads();  // before the next block's shares
  }
}

template <class T, class F>
struct JoinColumns {
  F body;
  const T* partial;
  int64_t chunks, columns;
  MILLRACE_HD void operator()(int64_t column) const {
    T total{};
    for (int64_t chunk = 0; chunk < chunks; ++chunk) total += partial[chunk * columns + column];
    body.store(column, total);
  }
};

// body.store(column, sum over the rows of body.term(body.load(row, column), row, column)), in an order that the shape
// decides: one launch if the rows are few or there is no scratch, else two. All terms of a column are computed before
// its sum is stored.
// REQUIRES: 0 < rows, columns; no load() reads what term() stores for another row and column; `scratch` is null or has
// sizeof(T) / 4 times the bytes of column_sum_scratch() (kernels/reduce.h).
template <class T, int kTile = kColumnTile, class F>
void launch_columns(State& state, int64_t rows, int64_t columns, const F& body, void* scratch) {
  const int64_t tiles = (columns + kTile - 1) / kTile;
  const int64_t chunk = scratch != nullptr ? chunk_rows(rows, tiles) : rows;
  const int64_t chunks = (rows + chunk - 1) / chunk, blocks = tiles * chunks;
  T* const partial = chunks > 1 ? static_cast<T*>(scratch) : nullptr;
  launch_kernel(state, std::min(blocks, kLaunchBlocks),
                kTile * column_lanes(chunk, kColumnAhead<T>, kColumnThreads / kTile), columns_kernel<T, kTile, F>, rows,
                columns, chunk, blocks, body, partial);
  if (partial != nullptr) launch_for_each(state, columns, JoinColumns<T, F>{body, partial, chunks, columns});
}

}  // namespace millrace::cuda
