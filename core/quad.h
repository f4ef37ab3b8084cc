// Quad: four neighbouring floats. A thread of a GPU loads and stores them at once if they are aligned.
#pragma once

#include <cstdint>

#include "millrace/core/hd.h"
#include "millrace/core/tensor.h"

namespace millrace {

struct alignas(16) Quad {
  float at[4];

  MILLRACE_HD Quad& operator+=(const Quad& more) {
    for (int i = 0; i < 4; ++i) at[i] += more.at[i];
    return *this;
  }
};

// Whether every row of the float32 values begins at an aligned Quad, and so does each fourth value of a row.
inline bool has_quads(const ConstTensorView& view) {
  return reinterpret_cast<uintptr_t>(view.data()) % alignof(Quad) == 0 &&
         (view.rows() <= 1 || view.row_bytes() % alignof(Quad) == 0);
}

// The quad at `from`, of which `there` values exist; the others are 0. `aligned`: see has_quads().
MILLRACE_HD inline Quad load_quad(const float* from, int64_t there, bool aligned) {
  if (aligned && there >= 4) return *reinterpret_cast<const Quad*>(from);
  Quad out{};
  for (int i = 0; i < 4; ++i) {
    if (i < there) out.at[i] = from[i];
  }
  return out;
}

// Stores as much of the quad as there is room for.
MILLRACE_HD inline void store_quad(float* to, const Quad& quad, int64_t there, bool aligned) {
  if (aligned && there >= 4) {
    *reinterpret_cast<Quad*>(to) = quad;
    return;
  }
  for (int i = 0; i < 4; ++i) {
    if (i < there) to[i] = quad.at[i];
  }
}

}  // namespace millrace
