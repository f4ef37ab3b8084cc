// launch_for_each: body(i) for every i in [0, count) as one kernel on the state's stream; core/parallel.h calls it.
// launch_rows: the same for bodies whose index is shared by a block's threads, see core/lanes.h.
// launch_columns: sums over the rows of what a body makes of each row and column.
//
// They only enqueue: no allocation, no synchronisation, may be captured. A launch that fails throws DeviceError; what
// fails inside the kernel is thrown by the next call that waits.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "millrace/core/cuda/check.h"
#include "millrace/core/cuda/state.h"
#include "millrace/core/hd.h"
#include "millrace/core/kernels/reduce.h"
#include "millrace/core/lanes.h"
#include "millrace/core/sizes.h"

// What the runtime knows a kernel by.
#if !defined(MILLRACE_KERNEL_ADDRESS)
#define MILLRACE_KERNEL_ADDRESS(kernel) reinterpret_cast<const void*>(kernel)
#endif

namespace millrace::cuda {

inline constexpr int kLaunchThreads = 256;
// The largest grid that a GPU takes; what lies beyond is reached by striding.
inline constexpr int64_t kLaunchBlocks = (int64_t{1} << 31) - 1;

template <class F>
__global__ void __launch_bounds__(kLaunchThreads) for_each_kernel(int64_t count, const F body) {
  const int64_t stride = static_cast<int64_t>(gridDim.x) * kLaunchThreads;
  MILLRACE_ROLLED
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * kLaunchThreads + threadIdx.x; i < count; i += stride) body(i);
}

// Launches the kernel of an address with the addresses of its arguments.
inline void launch_at(State& state, int64_t blocks, int threads, const void* kernel, void** arguments) {
  const DeviceGuard guard(state.device());
  MILLRACE_CUDA_CHECK(cudaLaunchKernel(kernel, dim3(static_cast<unsigned>(blocks)),
                                       dim3(static_cast<unsigned>(threads)), arguments, 0, state.stream()));
}

// kernel(arguments..) on the state's stream.
template <class... P>
void launch_kernel(State& state, int64_t blocks, int threads, void (*kernel)(P...),
                   std::type_identity_t<const P&>... arguments) {
  void* addresses[] = {const_cast<std::remove_const_t<P>*>(&arguments)...};
  launch_at(state, blocks, threads, MILLRACE_KERNEL_ADDRESS(kernel), addresses);
}

// REQUIRES: 0 < count <= 2^40.
template <class F>
void launch_for_each(State& state, int64_t count, const F& body) {
  const int64_t blocks = std::min((count + kLaunchThreads - 1) / kLaunchThreads, kLaunchBlocks);
  launch_kernel(state, blocks, kLaunchThreads, for_each_kernel<F>, count, body);
}

struct ThreadBlock {
  void* memory;

  __device__ int rank() const { return static_cast<int>(threadIdx.x); }
  __device__ int width() const { return static_cast<int>(blockDim.x); }
  __device__ void sync() const { __syncthreads(); }
  __device__ void* shared() const { return memory; }
};

template <class F>
__global__ void __launch_bounds__(kMostLanes) rows_kernel(int64_t rows, const F body) {
  __shared__ SumPair memory[kMostLanes];
  const ThreadBlock block{memory};
  const BlockLanes<ThreadBlock> lanes(block);
  MILLRACE_ROLLED
  for (int64_t row = blockIdx.x; row < rows; row += gridDim.x) body(row, lanes);
}

// REQUIRES: rows > 0.
template <class F>
void launch_rows(State& state, int64_t rows, int lanes, const F& body) {
  launch_kernel(state, std::min(rows, kLaunchBlocks), lanes, rows_kernel<F>, rows, body);
}

// A block adds up neighbouring columns, each by several threads, its lanes, over some of the rows: a chunk.
inline constexpr int kColumnTile = 32, kColumnLanes = 32;  // at most
// Rows that a thread looks at before it is done with the first of them.
inline constexpr int kColumnAhead = 4;

// Rows of a chunk: all of them where they are few, else so many that there are blocks for every multiprocessor.
inline int64_t chunk_rows(int64_t rows, int64_t columns) {
  constexpr int64_t kAtOnce = 512, kFewest = kSumRows, kBlocks = 128;  // the scratch is for that few
  if (rows <= kAtOnce) return rows;
  int64_t chunk = kAtOnce;
  while (chunk > kFewest && ceil_div(columns, int64_t{kColumnTile}) * ceil_div(rows, chunk) < kBlocks) chunk /= 2;
  return chunk;
}

// As many as have something to do: a power of 2.
inline int column_lanes(int64_t chunk) {
  int lanes = 1;
  while (lanes < kColumnLanes && lanes * kColumnAhead < chunk) lanes *= 2;
  return lanes;
}

// Blocks are tiles * chunks: those of the first chunk, then those of the next. Where there is more than one chunk, sums
// go to `partial`, of (chunks, columns).
template <class T, class F>
__global__ void __launch_bounds__(kColumnTile* kColumnLanes)
    columns_kernel(int64_t rows, int64_t columns, int64_t chunk, int64_t blocks, const F body, T* partial) {
  __shared__ T shares[kColumnLanes][kColumnTile];
  const int64_t tiles = (columns + kColumnTile - 1) / kColumnTile;
  const int at = static_cast<int>(threadIdx.x) % kColumnTile, lane = static_cast<int>(threadIdx.x) / kColumnTile;
  const int lanes = static_cast<int>(blockDim.x) / kColumnTile;
  MILLRACE_ROLLED
  for (int64_t block = blockIdx.x; block < blocks; block += gridDim.x) {
    const int64_t column = block % tiles * kColumnTile + at, first = block / tiles * chunk;
    const int64_t last = column >= columns ? 0 : rows < first + chunk ? rows : first + chunk;
    T total = T(0);
    MILLRACE_ROLLED
    for (int64_t row = first + lane; row < last; row += kColumnAhead * lanes) {
      // A term may store: all is loaded before, so that one wait is enough.
      decltype(body.load(row, column)) loaded[kColumnAhead];
      for (int i = 0; i < kColumnAhead; ++i) {
        if (row + i * lanes < last) loaded[i] = body.load(row + i * lanes, column);
      }
      for (int i = 0; i < kColumnAhead; ++i) {
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
    T total = T(0);
    for (int64_t chunk = 0; chunk < chunks; ++chunk) total += partial[chunk * columns + column];
    body.store(column, total);
  }
};

// body.store(column, sum over the rows of body.term(body.load(row, column), row, column)), in an order that the shape
// decides: one launch where the rows are few, or where there is no scratch, else two. Of one column every term is there
// before its sum is stored; what term() stores, no load() of another row and column reads.
// REQUIRES: 0 < rows, columns; `scratch` is null or that of column_sum() (kernels/reduce.h).
template <class T, class F>
void launch_columns(State& state, int64_t rows, int64_t columns, const F& body, void* scratch) {
  const int64_t chunk = scratch != nullptr ? chunk_rows(rows, columns) : rows;
  const int64_t chunks = ceil_div(rows, chunk), blocks = ceil_div(columns, int64_t{kColumnTile}) * chunks;
  T* const partial = chunks > 1 ? static_cast<T*>(scratch) : nullptr;
  launch_kernel(state, std::min(blocks, kLaunchBlocks), kColumnTile * column_lanes(chunk), columns_kernel<T, F>, rows,
                columns, chunk, blocks, body, partial);
  if (partial != nullptr) launch_for_each(state, columns, JoinColumns<T, F>{body, partial, chunks, columns});
}

}  // namespace millrace::cuda
