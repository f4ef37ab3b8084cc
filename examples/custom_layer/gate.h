// gate: x * sigmoid(y), a layer with two inputs.
//
//   - gate: {from: [value, share]}
#pragma once

#include <millrace/extend.h>

#include <memory>
#include <span>
#include <string_view>

// z = x * sigmoid(y).
struct Gate {
  template <class T>
  MILLRACE_HD T operator()(T x, T y) const {
    return x / (T(1) + millrace::math::exp(-y));
  }
};

// dz/dy = x s (1 - s) with s = sigmoid(y), for row r and column c.
template <class T>
struct GateShareGradient {
  const T* x;
  const T* y;
  const T* dz;
  int64_t x_stride, y_stride, dz_stride;
  millrace::Target<T> dy;
  MILLRACE_HD void operator()(int64_t r, int64_t c) const {
    const T s = T(1) / (T(1) + millrace::math::exp(-y[r * y_stride + c]));
    dy.store(r, c, dz[r * dz_stride + c] * x[r * x_stride + c] * s * (T(1) - s));
  }
};

// x, y, z are (B, n).
class GatePlan final : public millrace::LayerPlan {
 public:
  bool backward_reads_output() const override { return false; }

  void forward(millrace::Context& context, const millrace::ForwardArgs& args) override {
    millrace::zip_elements(context, args.inputs[0], args.inputs[1], args.output, Gate{});
  }

  // Gradients come in the order of the inputs; each of them is null if it is not needed.
  void backward(millrace::Context& context, const millrace::BackwardArgs& args) override {
    const millrace::ConstTensorView &x = args.inputs[0], &y = args.inputs[1], &dz = args.output_gradient;
    if (const millrace::Destination& dx = args.input_gradients[0]) {
      millrace::zip_elements(context, dz, y, dx, Gate{});  // dx = dz * sigmoid(y)
    }
    if (const millrace::Destination& dy = args.input_gradients[1]) {
      millrace::dispatch_float(x.dtype(), [&]<class T>() {
        millrace::for_each_row_column(context, x.rows(), x.columns(),
                                      GateShareGradient<T>{x.as<T>(), y.as<T>(), dz.as<T>(), x.stride(), y.stride(),
                                                           dz.stride(), millrace::Target<T>(context, dy)});
      });
    }
  }
};

class GateLayer final : public millrace::Layer {
 public:
  struct Options {
    void declare(millrace::OptionReader&) {}
  };
  static constexpr std::string_view kDoc = "one input times the sigmoid of another of the same shape, value by value";
  static constexpr std::string_view kExample = "from: [x, y]";

  explicit GateLayer(const Options&) {}

  int min_inputs() const override { return 2; }
  int max_inputs() const override { return 2; }
  millrace::TensorSpec build(std::span<const millrace::TensorSpec> inputs, millrace::ParamBuilder&) override {
    millrace::require_one_shape(inputs);
    return inputs[0];
  }
  std::unique_ptr<millrace::LayerPlan> plan(millrace::Context&, const millrace::PlanArgs&) const override {
    return std::make_unique<GatePlan>();
  }
};
