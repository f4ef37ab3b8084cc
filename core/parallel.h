// for_each_index: one body of an elementwise operation for the CPU and for CUDA.
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

#include "millrace/core/context.h"
#include "millrace/core/errors.h"
#include "millrace/core/hd.h"
#include "millrace/core/sizes.h"

#if defined(MILLRACE_CUDA_UNIT)
#include "millrace/core/cuda/launch.cuh"
#endif

namespace millrace {

inline namespace MILLRACE_UNIT {

// Indices that one task handles: large enough to hide the cost of a task, small enough to balance.
inline constexpr int64_t kIndexBlock = 16384;

[[noreturn]] inline void throw_not_cuda() {
  throw DeviceError("this operation was compiled as C++, which runs on the CPU alone", {},
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
// that is not the CPU. Every term of a column is computed before its sum is stored. If term() stores a value, no load()
// of another row and column may read it. `scratch`: sizeof(T) / 4 times column_sum_scratch() float32 values. A block of
// threads has at most kTile neighbouring columns.
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
  if (count <= 0) return;
  if (count <= kIndexBlock) {
    context.executor().run([count, body] {
      const F local = body;
      for (int64_t i = 0; i < count; ++i) local(i);
    });
    return;
  }
  const int64_t blocks = ceil_div(count, kIndexBlock);
  context.executor().parallel_for(blocks, [count, body](int64_t block) {
    const F local = body;
    const int64_t end = std::min(count, (block + 1) * kIndexBlock);
    for (int64_t i = block * kIndexBlock; i < end; ++i) local(i);
  });
}

// The same over the rows and columns of a padded tensor: body(row, column).
template <class F>
struct RowColumnBody {
  F body;
  int64_t columns;
  MILLRACE_HD void operator()(int64_t i) const { body(i / columns, i % columns); }
};

template <class F>
void for_each_row_column(Context& context, int64_t rows, int64_t columns, F body) {
  if (!context.device().is_cpu()) {
    launch_for_each_index(context, rows * columns, RowColumnBody<F>{body, columns});
    return;
  }
  const int64_t rows_a_block = std::max<int64_t>(1, kIndexBlock / std::max<int64_t>(columns, 1));
  const int64_t blocks = ceil_div(rows, rows_a_block);
  const auto run_block = [rows, columns, rows_a_block, body](int64_t block) {
    const F local = body;
    const int64_t end = std::min(rows, (block + 1) * rows_a_block);
    for (int64_t row = block * rows_a_block; row < end; ++row) {
      for (int64_t column = 0; column < columns; ++column) local(row, column);
    }
  };
  context.executor().parallel_for(blocks, run_block);
}

}  // namespace MILLRACE_UNIT
}  // namespace millrace
