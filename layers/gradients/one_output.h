// A layer with one output, y = x w + b, in one pass over x for each direction, with the rectifier that may lie before
// it. On CUDA; on the CPU the products that these are made of are as fast.
#pragma once

#include "millrace/core/context.h"
#include "millrace/core/tensor.h"
#include "millrace/layers/head.h"

namespace millrace {

struct OneOutput {
  ConstTensorView x;           // (B, in)
  ConstTensorView weight;      // of `in` values
  ConstTensorView dy;          // (B, 1)
  Destination dx;              // null where not needed
  Destination dweight, dbias;  // may be weight and bias themselves; a null dbias is not needed
  bool rectified = false;      // x was max(z, 0), and dx is the gradient of z
  Destination sums = {};       // of dx's columns; null where not needed
};

// REQUIRES: a CUDA context; float32 values.
void compute_head(Context& context, const Head& head);

// Bytes of scratch for such an x.
size_t one_output_scratch(const TensorSpec& x);

// REQUIRES: a CUDA context; float32 values; scratch has one_output_scratch(x); with `sums` dx is only written.
void one_output_gradients(Context& context, const OneOutput& args, void* scratch);

}  // namespace millrace
