// for_each_index: one body of an elementwise operation for the CPU and for CUDA. for_each_row_column, for_each_row and
// for_each_row_by_lanes: the same over rows and columns. Before them: lanes, and the launches that the loops use.
//
//   template <class T>
//   struct Relu {                       // a named functor, never a lambda
//     const T* x; T* y;
//     MILLRACE_HD void operator()(int64_t i) const { y[i] = x[i] > T(0) ? x[i] : T(0); }
//   };
//   for_each_index(context, n, Relu<T>{x, y});
//
// F is copied to where it runs. On the CPU, blocks of indices go through the executor and the loop over a block is
// inlined. On CUDA it is one launch, without allocation or synchronisation. Bodies of different indices must not touch
// the same memory. A file compiled as C++ throws DeviceError for a CUDA context. With CUDA on, layers are compiled as
// CUDA; layers of plug-ins and programs are if CMake is told so (docs/extending.md).
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "millrace/core/context.h"
#include "millrace/core/errors.h"
#include "millrace/core/export.h"

namespace millrace {

// Lanes: the threads that compute a row together, in bodies that are written once for the CPU and for CUDA.
//
//   template <class T>
//   struct Centre {
//     const T* x; T* y; int64_t columns;
//     template <class Lanes>
//     MILLRACE_HD void operator()(int64_t row, const Lanes& lanes) const {
//       const T* const in = x + row * columns;
//       T* const out = y + row * columns;
//       const double sum = lanes.sum(columns, [&](int64_t k) { return static_cast<double>(in[k]); });
//       const T mean = static_cast<T>(sum / static_cast<double>(columns));
//       lanes.each(columns, [&](int64_t k) { out[k] = in[k] - mean; });
//     }
//   };
//   for_each_row_by_lanes(context, rows, columns, Centre<float>{x, y, columns});
//
// All lanes run the body and get the same results of sum() and most(), so all must make the same calls. For one count,
// index k always belongs to the same lane, which therefore sees what it wrote at k. If first() is true, the lane writes
// the values that a row has only once. The order of a sum depends only on the count and the number of lanes.

// Two sums at once.
struct SumPair {
  double first = 0, second = 0;
  MILLRACE_HD SumPair& operator+=(const SumPair& more) {
    first += more.first;
    second += more.second;
    return *this;
  }
};

// The most lanes of a row.
inline constexpr int kMostLanes = 512;

// On the CPU one thread computes a row.
struct OneThread {
  MILLRACE_HD static constexpr int rank() { return 0; }
  MILLRACE_HD static constexpr int width() { return 1; }
  template <class V, class Add>
  MILLRACE_HD V join(const V& own, const Add&) const {
    return own;
  }
};

// The threads of a block share a row: thread r takes the indices r, r + width, ... of a count. `Block` has rank(),
// width() (a power of 2, at most kMostLanes), and join(value, add). All threads must call join(); it joins their values
// by add(a, b) in an order that only width decides. On a GPU it has is_last(), for last_row().
template <class Block>
class BlockLanes {
 public:
  MILLRACE_HD explicit BlockLanes(const Block& block = {}) : block_(block) {}

  MILLRACE_HD bool first() const { return block_.rank() == 0; }

  // Whether all other blocks called this before, for their rows; if so, everything that their first lanes wrote is
  // visible.
  // `ticket` is 0 before a launch and after it. REQUIRES: a GPU, no more rows than a grid has blocks, and one call for
  // each row.
  MILLRACE_HD bool last_row(unsigned* ticket) const { return block_.is_last(ticket); }

  // f(k) for every k below `count`.
  template <class F>
  MILLRACE_HD void each(int64_t count, const F& f) const {
    for (int64_t k = block_.rank(); k < count; k += block_.width()) f(k);
  }
  // f(i, k) for every i below `outer` and k below `inner`.
  template <class F>
  MILLRACE_HD void each(int64_t outer, int64_t inner, const F& f) const {
    if constexpr (std::is_same_v<Block, OneThread>) {
      for (int64_t i = 0; i < outer; ++i) each(inner, [&](int64_t k) { f(i, k); });
    } else if (inner > 0) {
      const int64_t outer_on = block_.width() / inner, inner_on = block_.width() % inner;
      int64_t i = block_.rank() / inner, k = block_.rank() % inner;
      while (i < outer) {
        f(i, k);
        i += outer_on;
        k += inner_on;
        if (k < inner) continue;
        k -= inner;
        ++i;
      }
    }
  }
  // The sum of what f gives: a floating-point number or a SumPair.
  template <class F>
  MILLRACE_HD auto sum(int64_t count, const F& f) const {
    decltype(f(int64_t{})) total{};
    each(count, [&](int64_t k) { total += f(k); });
    return block_.join(total, Plus{});
  }
  template <class F>
  MILLRACE_HD auto sum(int64_t outer, int64_t inner, const F& f) const {
    decltype(f(int64_t{}, int64_t{})) total{};
    each(outer, inner, [&](int64_t i, int64_t k) { total += f(i, k); });
    return block_.join(total, Plus{});
  }
  // The largest of what f gives. REQUIRES: count > 0.
  template <class F>
  MILLRACE_HD auto most(int64_t count, const F& f) const {
    auto largest = f(int64_t{});
    each(count, [&](int64_t k) { largest = Larger{}(largest, f(k)); });
    return block_.join(largest, Larger{});
  }

 private:
  struct Plus {
    template <class V>
    MILLRACE_HD V operator()(V value, const V& more) const {
      return value += more;
    }
  };
  struct Larger {
    template <class V>
    MILLRACE_HD V operator()(const V& value, const V& other) const {
      return other > value ? other : value;
    }
  };

  const Block block_;
};

using OneLane = BlockLanes<OneThread>;

// The best number of lanes for a row of `columns` values.
constexpr int lanes_for(int64_t columns) {
  int lanes = 32;
  while (lanes < kMostLanes && int64_t{4} * lanes < columns) lanes *= 2;
  return lanes;
}

}  // namespace millrace

// The launches of these loops on CUDA; they use the lanes.
#if defined(MILLRACE_CUDA_UNIT)
#include "millrace/core/cuda/launch.cuh"
#endif

namespace millrace {

inline namespace MILLRACE_UNIT {

// Indices that one task handles: large enough to hide the cost of a task, small enough to balance.
inline constexpr int64_t kIndexBlock = 16384;

[[noreturn]] inline void throw_not_cuda() {
  throw DeviceError("this operation was compiled as C++, which runs only on the CPU", {},
                    "set device: cpu, or have nvcc compile its file: millrace_add_plugin(NAME FILE CUDA), or in a "
                    "program millrace_cuda_sources(TARGET FILE)");
}

// for_each_index on a device that is not the CPU.
template <class F>
void launch_for_each_index(Context& context, int64_t count, const F& body) {
  if (count <= 0) return;
#if defined(MILLRACE_CUDA_UNIT)
  cuda::launch_for_each(context.cuda(), count, body);
#else
  static_cast<void>(context), static_cast<void>(body);
  throw_not_cuda();
#endif
}

// body(row, lanes) for every row, on a device that is not the CPU. `columns` decides how many threads share a row.
template <class F>
void launch_rows(Context& context, int64_t rows, int64_t columns, const F& body) {
  if (rows <= 0) return;
#if defined(MILLRACE_CUDA_UNIT)
  cuda::launch_rows(context.cuda(), rows, lanes_for(columns), body);
#else
  static_cast<void>(context), static_cast<void>(columns), static_cast<void>(body);
  throw_not_cuda();
#endif
}

// body.store(column, the sum over the rows of body.term(body.load(row, column), row, column), of type T), on a device
// that is not the CPU. All terms of a column are computed before its sum is stored. If term() stores a value, no load()
// of another row and column may read it. `scratch` is null (then it is one launch) or has sizeof(T) / 4 times the bytes
// of column_sum_scratch() for (rows, columns) float32 values. A block of threads has at most kTile neighbouring
// columns.
template <class T, int kTile = 32, class F>
void launch_columns(Context& context, int64_t rows, int64_t columns, const F& body, void* scratch) {
  if (rows <= 0 || columns <= 0) return;
#if defined(MILLRACE_CUDA_UNIT)
  cuda::launch_columns<T, kTile>(context.cuda(), rows, columns, body, scratch);
#else
  static_cast<void>(context), static_cast<void>(body), static_cast<void>(scratch);
  throw_not_cuda();
#endif
}

template <class F>
void for_each_index(Context& context, int64_t count, F body) {
  if (!context.device().is_cpu()) {
    launch_for_each_index(context, count, body);
    return;
  }
  const int64_t blocks = (count + kIndexBlock - 1) / kIndexBlock;
  context.executor().parallel_for(blocks, [count, body](int64_t block) {
    const F local = body;
    const int64_t end = std::min(count, (block + 1) * kIndexBlock);
    for (int64_t i = block * kIndexBlock; i < end; ++i) local(i);
  });
}

template <class F>
void for_each_row_on_cpu(Context& context, int64_t rows, int64_t columns, const F& body) {
  const int64_t rows_a_block = std::max<int64_t>(1, kIndexBlock / std::max<int64_t>(columns, 1));
  context.executor().parallel_for((rows + rows_a_block - 1) / rows_a_block, [rows, rows_a_block, body](int64_t block) {
    const F local = body;
    const int64_t end = std::min(rows, (block + 1) * rows_a_block);
    for (int64_t row = block * rows_a_block; row < end; ++row) local(row);
  });
}

template <class F>
struct RowColumnBody {
  F body;
  int64_t columns;
  MILLRACE_HD void operator()(int64_t i) const { body(i / columns, i % columns); }
};

// The same over the rows and columns of a padded tensor: body(row, column).
template <class F>
void for_each_row_column(Context& context, int64_t rows, int64_t columns, F body) {
  if (!context.device().is_cpu()) {
    launch_for_each_index(context, rows * columns, RowColumnBody<F>{body, columns});
    return;
  }
  for_each_row_on_cpu(context, rows, columns, [columns, body](int64_t row) {
    for (int64_t column = 0; column < columns; ++column) body(row, column);
  });
}

// body(row) for every row; the body itself walks over `columns` values. It works like for_each_index, but its blocks of
// rows suit the length of a row: on the CPU, long rows are shared out one by one. On CUDA one thread does a row.
template <class F>
void for_each_row(Context& context, int64_t rows, int64_t columns, F body) {
  if (!context.device().is_cpu()) return launch_for_each_index(context, rows, body);
  for_each_row_on_cpu(context, rows, columns, body);
}

template <class F>
struct OneLaneBody {
  F body;
  MILLRACE_HD void operator()(int64_t row) const { body(row, OneLane{}); }
};

// The same, but on CUDA a block of threads shares a row. Bodies are written for that: body(row, lanes).
template <class F>
void for_each_row_by_lanes(Context& context, int64_t rows, int64_t columns, F body) {
  if (!context.device().is_cpu()) return launch_rows(context, rows, columns, body);
  for_each_row_on_cpu(context, rows, columns, OneLaneBody<F>{body});
}

}  // namespace MILLRACE_UNIT
}  // namespace millrace
