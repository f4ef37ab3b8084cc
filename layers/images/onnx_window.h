// Windows of layers for images as the attributes of an ONNX node.
#pragma once

#include <cstdint>
#include <vector>

#include "millrace/core/kernels/images/convolution.h"
#include "millrace/core/onnx/onnx_graph.h"

namespace millrace {

// The size, the steps and the padding of a window that goes over an image so.
inline std::vector<OnnxAttribute> onnx_window(const ConvolutionSpec::Axis& height, const ConvolutionSpec::Axis& width) {
  return {{"kernel_shape", std::vector<int64_t>{height.kernel, width.kernel}},
          {"strides", std::vector<int64_t>{height.stride, width.stride}},
          {"pads", std::vector<int64_t>{height.before, width.before, height.after, width.after}}};
}

}  // namespace millrace
