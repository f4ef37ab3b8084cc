// Head: a product with a vector, y = x w + b, as the last layer of a model often is. On CUDA a loss may compute it on
// its way, which saves starting a kernel: its plan is a HeadLossPlan then.
//
// HeadRow is its body, for launch_rows() (core/parallel.h) or inside another one.
#pragma once

#include <cstdint>

#include "millrace/core/export.h"
#include "millrace/core/tensor.h"
#include "millrace/layers/loss.h"

namespace millrace {

// Four neighbouring floats. A thread of a GPU loads and stores them at once if they are aligned.
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

// Of float32 values in a GPU's memory, the same in every step.
struct Head {
  ConstTensorView x;           // (B, in)
  TensorView rectified;        // x itself where it becomes max(x, 0) first, in place; null where it stays
  ConstTensorView weight;      // of `in` values
  ConstTensorView bias;        // null: none
  TensorView y;                // (B, 1)
  unsigned* ticket = nullptr;  // 0 between launches: for Lanes::last_row(), which a loss calls
};

// Like the loops of parallel.h, this has another name in CUDA units than in C++ ones.
inline namespace MILLRACE_UNIT {

struct HeadRow {
  const float* x;
  float* rectified;  // null: x stays
  const float* weight;
  const float* bias;
  float* y;
  int64_t columns, x_stride, y_stride;
  bool aligned;

  explicit HeadRow(const Head& head)
      : x(head.x.as<float>()),
        rectified(head.rectified.as<float>()),
        weight(head.weight.as<float>()),
        bias(head.bias.as<float>()),
        y(head.y.as<float>()),
        columns(head.x.columns()),
        x_stride(head.x.stride()),
        y_stride(head.y.stride()),
        aligned(has_quads(head.x) && has_quads(head.weight)) {}

  // Lane 0 stores y.
  template <class Lanes>
  MILLRACE_HD void operator()(int64_t row, const Lanes& lanes) const {
    const float sum = lanes.sum((columns + 3) / 4, [&](int64_t quad) { return part(row * x_stride, quad * 4); });
    if (lanes.first()) y[row * y_stride] = bias != nullptr ? sum + *bias : sum;
  }

 private:
  MILLRACE_HD float part(int64_t row_at, int64_t column) const {
    const int64_t there = columns - column;
    Quad values = load_quad(x + row_at + column, there, aligned);
    const Quad factors = load_quad(weight + column, there, aligned);
    if (rectified != nullptr) {
      for (float& value : values.at) value = value < 0 ? 0 : value;
      store_quad(rectified + row_at + column, values, there, aligned);
    }
    float sum = 0;
    for (int i = 0; i < 4; ++i) sum += values.at[i] * factors.at[i];
    return sum;
  }
};

}  // namespace MILLRACE_UNIT

// The plan of a loss that can compute the head before it on its way, in one kernel. A loss need not be able to: the
// fusion of heads finds out.
class MILLRACE_EXPORT HeadLossPlan : public LossPlan {
 public:
  // Whether that is faster than one after the other.
  virtual bool can_run_with_head() const = 0;
  // Computes the head, whose y is the prediction, then does what run() does.
  // REQUIRES: can_run_with_head(); a CUDA context; float32 values.
  virtual void run_with_head(Context& context, const Head& head, const LossArgs& args) = 0;
};

}  // namespace millrace
