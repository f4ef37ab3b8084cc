// Head: a product with a vector, y = x w + b, as the last layer of a model often is. On CUDA a loss may compute it on
// its way (layers/model/fusions/), which saves starting a kernel.
//
// HeadRow is its body, for launch_rows() (core/parallel.h) or inside another one.
#pragma once

#include <cstdint>

#include "millrace/core/hd.h"
#include "millrace/core/kernels/activated.h"
#include "millrace/core/quad.h"
#include "millrace/core/tensor.h"

namespace millrace {

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
      for (float& value : values.at) value = activated(value, FusedActivation::relu);
      store_quad(rectified + row_at + column, values, there, aligned);
    }
    float sum = 0;
    for (int i = 0; i < 4; ++i) sum += values.at[i] * factors.at[i];
    return sum;
  }
};

}  // namespace MILLRACE_UNIT
}  // namespace millrace
