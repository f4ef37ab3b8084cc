// Pooling: the largest value, or the mean, of each window of an image's channel, and the gradients.
//
// Images are (batch, channels, height, width), on the CPU channels last; there may be gaps between them. The padding
// around an image does not count: it is never the largest value, and never part of a mean. A NaN in a window is its
// largest value. Results do not depend on the number of threads. f32 and f64, else InternalError; nothing is allocated.
#pragma once

#include <cstdint>

#include "millrace/core/context.h"
#include "millrace/core/kernels/images/convolution.h"
#include "millrace/core/tensor.h"

namespace millrace {

struct PoolingSpec {
  int64_t batch = 0, channels = 0;
  ConvolutionSpec::Axis height, width;  // every window holds at least one pixel of the image
  DType dtype = DType::f32;

  TensorSpec input() const { return {Shape{batch, channels, height.in, width.in}, dtype}; }
  TensorSpec output() const { return {Shape{batch, channels, height.out(), width.out()}, dtype}; }
};

// For each value of y, `taken` gets the number of the value in its window that y took; pool_gradient() reads it. null:
// not wanted.
void max_pool(Context& context, const PoolingSpec& spec, const ConstTensorView& x, const TensorView& y, int32_t* taken);
void average_pool(Context& context, const PoolingSpec& spec, const ConstTensorView& x, const TensorView& y);
// `taken` is max_pool()'s; null: the pooling was an average.
void pool_gradient(Context& context, const PoolingSpec& spec, const int32_t* taken, const ConstTensorView& dy,
                   const Destination& dx);

}  // namespace millrace
