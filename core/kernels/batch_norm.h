// Batch normalisation: every channel of a batch gets mean 0 and deviation 1, then a scale and a shift.
//
// The values are `rows` lines, `stride` elements apart, each with a value for every channel: the vectors of a batch or,
// channels last, the pixels of a batch of images. On CUDA images are (batch, channels, pixels) without gaps instead.
// Sums are in double; they run over blocks whose size the shape decides, and the blocks are joined in order. f32 and
// f64, else InternalError. Nothing is allocated.
#pragma once

#include <cstddef>
#include <cstdint>

#include "millrace/core/context.h"
#include "millrace/core/tensor.h"

namespace millrace {

struct BatchNormSpec {
  int64_t rows = 0, channels = 0;
  int64_t pixels = 1;  // lines of one image
  DType dtype = DType::f32;
  double epsilon = 1e-5;  // added to the variance
};

// A matrix of spec.rows lines.
struct NormRows {
  void* data = nullptr;
  int64_t stride = 0;  // elements from one line to the next
};
struct ConstNormRows {
  const void* data = nullptr;
  int64_t stride = 0;
};

// Bytes of `scratch` for the functions below.
size_t batch_norm_scratch(Device device, const BatchNormSpec& spec);

// `mean` and `variance` receive a value for each channel. The variance is divided by the number of rows, not by one
// less.
void batch_moments(Context& context, const BatchNormSpec& spec, ConstNormRows x, void* mean, void* variance,
                   void* scratch);

struct NormParams {
  const void* mean = nullptr;
  const void* variance = nullptr;
  const void* weight = nullptr;
  const void* bias = nullptr;
};
// y = (x - mean) / sqrt(variance + epsilon) * weight + bias
void batch_norm(Context& context, const BatchNormSpec& spec, ConstNormRows x, const NormParams& params, NormRows y);

// Where the gradients of batch_norm() go, if it used the moments of x itself; null: not wanted.
struct BatchNormGradients {
  Destination dx = {};  // with the stride of x
  Destination weight = {}, bias = {};
};
void batch_norm_gradient(Context& context, const BatchNormSpec& spec, ConstNormRows x, ConstNormRows dy,
                         const NormParams& params, const BatchNormGradients& gradients, void* scratch);

}  // namespace millrace
