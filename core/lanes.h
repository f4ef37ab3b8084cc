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
//   for_each_row_by_lanes(context, rows, columns, Centre<float>{x, y, columns});  // layers/for_each_row.h
//
// All lanes run the body and get the same results of sum() and most(), so all must make the same calls. For one count,
// index k always belongs to the same lane, which therefore sees what it wrote at k. If first() is true, the lane writes
// the values that a row has only once. The order of a sum depends only on the count and the number of lanes.
#pragma once

#include <cstdint>
#include <type_traits>

#include "millrace/core/hd.h"

namespace millrace {

// Two sums at once.
struct SumPair {
  double first = 0, second = 0;
  MILLRACE_HD SumPair& operator+=(const SumPair& more) {
    first += more.first;
    second += more.second;
    return *this;
  }
};

// The threads of a block share a row: thread r takes the indices r, r + width, ... of a count. `Block` has rank(),
// width() (a power of 2, at most kMostLanes), and join(value, add). All threads must call join(); it joins their values
// by add(a, b) in an order that only width decides. On a GPU it has is_last(), for last_row().
inline constexpr int kMostLanes = 512;

// A row of the CPU is one thread's.
struct OneThread {
  MILLRACE_HD static constexpr int rank() { return 0; }
  MILLRACE_HD static constexpr int width() { return 1; }
  template <class V, class Add>
  MILLRACE_HD V join(const V& own, const Add&) const {
    return own;
  }
};

template <class Block>
class BlockLanes {
 public:
  MILLRACE_HD explicit BlockLanes(const Block& block = {}) : block_(block) {}

  MILLRACE_HD bool first() const { return block_.rank() == 0; }

  // Whether the rows of all other blocks came here before; if so, everything that first() wrote in them is visible.
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
  while (lanes < kMostLanes && lanes * 4 < columns) lanes *= 2;
  return lanes;
}

}  // namespace millrace
