// softmax: turns logits along the last axis into shares that add up to 1.
#include "millrace/core/math.h"
#include "millrace/core/parallel.h"
#include "millrace/layers/catalog.h"
#include "millrace/layers/layer.h"
#include "millrace/layers/onnx_layer.h"
#include "millrace/layers/simple_layer.h"

namespace millrace {
namespace {

// A row holds `runs` runs of `length` values along its last axis, each with a softmax of its own; run i of a batch is
// run i % runs of row i / runs.

// y = exp(x - max) / sum. Without the maximum, exp(x) would overflow.
template <class T>
struct Softmax {
  const T* x;
  T* y;
  int64_t x_stride, y_stride, runs, length;

  template <class Lanes>
  MILLRACE_HD void operator()(int64_t i, const Lanes& lanes) const {
    const int64_t row = i / runs, begin = i % runs * length;
    const T* const in = x + row * x_stride + begin;
    T* const out = y + row * y_stride + begin;
    const T most = lanes.most(length, [&](int64_t k) { return in[k]; });
    lanes.each(length, [&](int64_t k) { out[k] = math::exp(in[k] - most); });
    const T whole = static_cast<T>(lanes.sum(length, [&](int64_t k) { return static_cast<double>(out[k]); }));
    lanes.each(length, [&](int64_t k) { out[k] /= whole; });
  }
};

// dx = y (dy - the sum of y dy)
template <class T>
struct SoftmaxGradient {
  const T* y;
  const T* dy;
  int64_t y_stride, dy_stride, runs, length;
  Target<T> dx;

  template <class Lanes>
  MILLRACE_HD void operator()(int64_t i, const Lanes& lanes) const {
    const int64_t row = i / runs, begin = i % runs * length;
    const T* const shares = y + row * y_stride + begin;
    const T* const slopes = dy + row * dy_stride + begin;
    const T mean = static_cast<T>(
        lanes.sum(length, [&](int64_t k) { return static_cast<double>(shares[k]) * static_cast<double>(slopes[k]); }));
    lanes.each(length, [&](int64_t k) { dx.store(row, begin + k, shares[k] * (slopes[k] - mean)); });
  }
};

class SoftmaxLayer final : public SimpleLayer {
 public:
  static constexpr std::string_view kDoc = "shares that add up to 1: exp(x) divided by its sum along the last axis";

  TensorSpec build(std::span<const TensorSpec> inputs, ParamBuilder&) override {
    require_last_axis(inputs[0]);
    return inputs[0];
  }
  void forward(Context& context, const SimpleForward& args) const override {
    const int64_t length = run_length(args.x), runs = args.x.columns() / length;
    dispatch_float(args.x.dtype(), [&]<class T>() {
      for_each_row_by_lanes(context, args.x.rows() * runs, length,
                            Softmax<T>{args.x.as<T>(), args.y.as<T>(), args.x.stride(), args.y.stride(), runs, length});
    });
  }
  void backward(Context& context, const SimpleBackward& args) const override {
    const int64_t length = run_length(args.y), runs = args.y.columns() / length;
    dispatch_float(args.y.dtype(), [&]<class T>() {
      for_each_row_by_lanes(context, args.y.rows() * runs, length,
                            SoftmaxGradient<T>{args.y.as<T>(), args.dy.as<T>(), args.y.stride(), args.dy.stride(), runs,
                                               length, Target<T>(context, args.dx)});
    });
  }
  bool backward_reads_input() const override { return false; }
  OnnxValue to_onnx(const OnnxLayer& layer) const override {
    return layer.graph.add("Softmax", {layer.inputs[0]}, {{"axis", int64_t{-1}}});
  }

 private:
  static int64_t run_length(const ConstTensorView& batch) { return batch.shape()[batch.shape().rank() - 1]; }
};

}  // namespace
}  // namespace millrace

MILLRACE_REGISTER_LAYER(softmax, SoftmaxLayer);
