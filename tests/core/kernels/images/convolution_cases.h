// Convolutions of every sort, for tests of whoever computes them.
#pragma once

#include <vector>

#include "millrace/core/kernels/images/convolution.h"

namespace millrace::testing {

inline ConvolutionSpec square_images(int64_t batch, int64_t channels, int64_t size, int64_t filters, int64_t kernel) {
  ConvolutionSpec spec;
  spec.batch = batch, spec.in_channels = channels, spec.out_channels = filters;
  spec.height = spec.width = {.in = size, .kernel = kernel};
  return spec;
}

inline std::vector<ConvolutionSpec> convolution_cases() {
  std::vector<ConvolutionSpec> out = {square_images(4, 1, 28, 20, 5), square_images(4, 20, 12, 50, 5),
                                      square_images(1, 1, 1, 1, 1), square_images(8, 64, 14, 128, 1)};
  const auto add = [&](ConvolutionSpec spec, int64_t before, int64_t after) -> ConvolutionSpec& {
    spec.height.before = spec.width.before = before;
    spec.height.after = spec.width.after = after;
    return out.emplace_back(spec);
  };
  add(square_images(5, 16, 8, 32, 3), 1, 1);
  add(square_images(5, 16, 8, 32, 2), 0, 1);  // padded on one side
  add(square_images(3, 6, 9, 8, 4), 1, 2);
  add(square_images(5, 16, 8, 16, 3), 1, 1).groups = 16;  // depthwise
  add(square_images(5, 16, 8, 32, 3), 1, 1).groups = 4;
  ConvolutionSpec& dilated = add(square_images(3, 7, 11, 5, 3), 2, 2);
  dilated.height.dilation = dilated.width.dilation = 2;
  ConvolutionSpec& strided = add(square_images(3, 5, 11, 7, 3), 0, 1);
  strided.height.stride = strided.width.stride = 2;
  ConvolutionSpec& uneven = add(square_images(3, 5, 7, 7, 3), 1, 1);
  uneven.width = {.in = 11, .kernel = 5, .stride = 3, .dilation = 1, .before = 2, .after = 0};
  return out;
}

}  // namespace millrace::testing
