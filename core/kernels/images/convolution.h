// Convolutions of images and their gradients, planned once, run many times.
//
// Images are (batch, channels, height, width) without gaps, on the CPU channels last. A weight is (out_channels,
// in_channels / groups, kernel height, kernel width) in the order of its shape; the outputs of a group read only the
// inputs of that group. CPU: oneDNN on a fixed number of images at a time; float64 goes through loops of our own. A
// result depends only on shapes, values and device, never on the number of threads. A plan is used by one thread at a
// time and belongs to the Context that it was made for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "millrace/core/context.h"
#include "millrace/core/kernels/gemm.h"
#include "millrace/core/tensor.h"

namespace millrace {

struct ConvolutionSpec {
  // Sizes along the height or the width.
  struct Axis {
    int64_t in = 0;        // pixels of the input
    int64_t kernel = 1;    // values of the weight
    int64_t stride = 1;    // between neighbours of the output, in pixels of the input
    int64_t dilation = 1;  // between neighbours of the weight
    int64_t before = 0;    // zeros around the input
    int64_t after = 0;

    // Pixels that the weight covers.
    int64_t reach() const { return (kernel - 1) * dilation + 1; }
    // Pixels of the output.
    int64_t out() const { return (in + before + after - reach()) / stride + 1; }
    bool operator==(const Axis&) const = default;
  };

  int64_t batch = 0, in_channels = 0, out_channels = 0, groups = 1;
  Axis height, width;
  DType dtype = DType::f32;  // f32 or f64

  TensorSpec input() const { return {Shape{batch, in_channels, height.in, width.in}, dtype}; }
  TensorSpec output() const { return {Shape{batch, out_channels, height.out(), width.out()}, dtype}; }
  TensorSpec weight() const { return {Shape{out_channels, in_channels / groups, height.kernel, width.kernel}, dtype}; }
  // Multiplications for one image.
  int64_t products() const { return output().shape.row().elements() * weight().shape.row().elements(); }
};

// y = activation(x * weight + bias), dx from dy, or dweight and dbias from x and dy.
enum class ConvolutionPass : uint8_t { forward, input_gradient, weight_gradient };

struct ConvolutionOptions {
  ConvolutionPass pass = ConvolutionPass::forward;
  bool bias = false;  // whether there is a bias; for weight_gradient: whether its gradient is wanted
  FusedActivation activation = FusedActivation::none;  // for a forward pass
  float beta = 0;                                      // for dx
  // On the CPU y, or dx, of an image has the same bits whatever the batch is. Not for weight_gradient.
  bool images_alone = false;
};

// A pass uses the members that its formula names.
struct ConvolutionArgs {
  const void* x = nullptr;
  const void* weight = nullptr;
  const void* bias = nullptr;  // out_channels values; null if it was planned without a bias
  void* y = nullptr;
  const void* dy = nullptr;
  Destination dx = {};       // with the beta of the plan
  Destination dweight = {};  // null: not wanted
  Destination dbias = {};    // null: not wanted; must be as planned
};

class Convolution {
 public:
  virtual ~Convolution() = default;
  // Allocates nothing of its own and, on CUDA, only enqueues. Throws InternalError when the library fails.
  virtual void run(Context& context, const ConvolutionArgs& args) = 0;
  // Bytes of the buffers that it holds itself, at most: for a smaller batch it would hold no more.
  virtual size_t bytes() const { return 0; }
};

// Throws DeviceError when the device refuses, InternalError when the library does. REQUIRES: float32 or float64,
// sizes of at least 1, paddings of at least 0, groups that divide the channels, and a weight that reaches no further
// than the padded input: layers check that when they are built.
std::unique_ptr<Convolution> make_convolution(Context& context, const ConvolutionSpec& spec,
                                              const ConvolutionOptions& options);

}  // namespace millrace
