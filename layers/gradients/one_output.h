// A layer with one output, y = x w + b, and the rectifier that may come before it, in one pass over x for forward and
// one for backward. Only on CUDA: on the CPU, separate products are as fast.
#pragma once

#include "millrace/core/context.h"
#include "millrace/core/tensor.h"
#include "millrace/layers/head.h"

namespace millrace {

struct OneOutput {
  ConstTensorView x;           // (B, in)
  ConstTensorView weight;      // `in` values
  ConstTensorView dy;          // (B, 1)
  Destination dx;              // null if not needed
  Destination dweight, dbias;  // may be weight and bias themselves; a null dbias is not needed
  bool rectified = false;      // x was max(z, 0), and dx is the gradient of z
  Destination sums = {};       // the sums of dx's columns; null if not needed
};

// REQUIRES: a CUDA context; float32 values.
void compute_head(Context& context, const Head& head);

// Bytes of scratch that one_output_gradients() needs for an x of this spec.
size_t one_output_scratch(const TensorSpec& x);

// REQUIRES: a CUDA context; float32 values; scratch has one_output_scratch(x); with `sums`, dx has beta 0.
void one_output_gradients(Context& context, const OneOutput& args, void* scratch);

}  // namespace millrace
