// for_each_row: body(row) for every row, where a body walks over `columns` values by itself.
//
// It works like for_each_index (core/parallel.h), but its blocks of rows suit the length of a row: on the CPU, long
// rows are shared out one by one. On CUDA one thread does a row. With for_each_row_by_lanes a block of threads shares
// it, in bodies that are written for that: body(row, lanes), see core/lanes.h.
#pragma once

#include <algorithm>
#include <cstdint>

#include "millrace/core/lanes.h"
#include "millrace/core/parallel.h"

namespace millrace {

// Like the loops of parallel.h, these templates have another name in CUDA units than in C++ ones.
inline namespace MILLRACE_UNIT {

template <class F>
void for_each_row_on_cpu(Context& context, int64_t rows, int64_t columns, const F& body) {
  const int64_t rows_a_block = std::max<int64_t>(1, kIndexBlock / std::max<int64_t>(columns, 1));
  context.executor().parallel_for(ceil_div(rows, rows_a_block), [rows, rows_a_block, body](int64_t block) {
    const F local = body;
    const int64_t end = std::min(rows, (block + 1) * rows_a_block);
    for (int64_t row = block * rows_a_block; row < end; ++row) local(row);
  });
}

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

template <class F>
void for_each_row_by_lanes(Context& context, int64_t rows, int64_t columns, F body) {
  if (!context.device().is_cpu()) return launch_rows(context, rows, columns, body);
  for_each_row_on_cpu(context, rows, columns, OneLaneBody<F>{body});
}

}  // namespace MILLRACE_UNIT
}  // namespace millrace
