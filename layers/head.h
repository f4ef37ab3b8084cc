// Head: a product with a vector, y = x w + b; the last layer of a model is often one. On CUDA a loss may compute the
// head in its own kernel, which saves starting another one: then the loss's plan is a HeadLossPlan.
//
// HeadRow is the body of a head, for launch_rows() (core/parallel.h) or inside another body.
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

// The quad at `from`. If only `there` values exist there, the others are 0. `aligned`: see has_quads().
MILLRACE_HD inline Quad load_quad(const float* from, int64_t there, bool aligned) {
  if (aligned && there >= 4) return *reinterpret_cast<const Quad*>(from);
  Quad out{};
  for (int i = 0; i < 4; ++i) {
    if (i < there) out.at[i] = from[i];
  }
  return out;
}

// Stores the first `there` values of the quad, at most all four.
MILLRACE_HD inline void store_quad(float* to, const Quad& quad, int64_t there, bool aligned) {
  if (aligned && there >= 4) {
    *reinterpret_cast<Quad*>(to) = quad;
    return;
  }
  for (int i = 0; i < 4; ++i) {
    if (i < there) to[i] = quad.at[i];
  }
}

// All values are float32, in a GPU's memory, at the same addresses in every step.
struct Head {
  ConstTensorView x;           // (B, in)
  TensorView rectified;        // x itself if it first becomes max(x, 0), in place; null if x stays as it is
  ConstTensorView weight;      // `in` values
  ConstTensorView bias;        // null: none
  TensorView y;                // (B, 1)
  unsigned* ticket = nullptr;  // for Lanes::last_row(), which a loss calls; 0 between launches
};

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

// The plan of a loss that can also compute the head before it, in one kernel. A loss need not have such a plan: the
// fusion of heads finds out.
class MILLRACE_EXPORT HeadLossPlan : public LossPlan {
 public:
  // Whether one kernel for both is possible, and faster than one after the other.
  virtual bool can_run_with_head() const = 0;
  // Computes the head, whose y is the prediction, then does what run() does.
  // REQUIRES: can_run_with_head(); a CUDA context; float32 values.
  virtual void run_with_head(Context& context, const Head& head, const LossArgs& args) = 0;
};

}  // namespace millrace
