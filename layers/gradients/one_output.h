// The gradients of a layer with one output, y = x w + b, in one pass over x. On CUDA; on the CPU the products that
// these are made of are as fast.
#pragma once

#include "millrace/core/context.h"
#include "millrace/core/kernels/destination.h"
#include "millrace/core/tensor.h"

namespace millrace {

struct OneOutput {
  ConstTensorView x;           // (B, in)
  ConstTensorView weight;      // of `in` values
  ConstTensorView dy;          // (B, 1)
  Destination dx;              // null where not needed
  Destination dweight, dbias;  // may be weight and bias themselves; a null dbias is not needed
};

// Bytes of scratch for such an x.
size_t one_output_scratch(const TensorSpec& x);

// REQUIRES: a CUDA context; float32 values; scratch has one_output_scratch(x).
void one_output_gradients(Context& context, const OneOutput& args, void* scratch);

}  // namespace millrace
