// Two layers: softsign, which treats each value by itself, and prelu, which has a parameter.
#pragma once

#include <millrace/extend.h>

#include <memory>
#include <span>
#include <string_view>

// x / (1 + |x|).
struct Softsign {
  template <class T>
  MILLRACE_HD T operator()(T x) const {
    return x / (T(1) + (x < T(0) ? -x : x));
  }
};

// dy/dx = 1 / (1 + |x|)^2.
struct SoftsignGradient {
  template <class T>
  MILLRACE_HD T operator()(T x, T dy) const {
    const T below = T(1) + (x < T(0) ? -x : x);
    return dy / (below * below);
  }
};

class SoftsignLayer final : public millrace::SimpleLayer {
 public:
  struct Options {
    void declare(millrace::OptionReader&) {}
  };
  static constexpr std::string_view kDoc = "every value x becomes x / (1 + |x|)";

  explicit SoftsignLayer(const Options&) {}

  void forward(millrace::Context& context, const millrace::SimpleForward& args) const override {
    millrace::map_elements(context, args.x, args.y, Softsign{});
  }
  void backward(millrace::Context& context, const millrace::SimpleBackward& args) const override {
    millrace::zip_elements(context, args.x, args.dy, args.dx, SoftsignGradient{});
  }
  bool backward_reads_output() const override { return false; }
};

// For row r and column c: y = x if x > 0, else slope[c] x.
template <class T>
struct PreluForward {
  const T* x;
  const T* slope;
  int64_t x_stride;
  millrace::Target<T> y;
  MILLRACE_HD void operator()(int64_t r, int64_t c) const {
    const T value = x[r * x_stride + c];
    y.store(r, c, value > T(0) ? value : slope[c] * value);
  }
};

// dx = dy if x > 0, else slope[c] dy.
template <class T>
struct PreluInputGradient {
  const T* x;
  const T* dy;
  const T* slope;
  int64_t x_stride, dy_stride;
  millrace::Target<T> dx;
  MILLRACE_HD void operator()(int64_t r, int64_t c) const {
    const T gradient = dy[r * dy_stride + c];
    dx.store(r, c, x[r * x_stride + c] > T(0) ? gradient : slope[c] * gradient);
  }
};

// The term that a value adds to the gradient of its column's slope.
struct PreluSlopeTerm {
  template <class T>
  MILLRACE_HD T operator()(T x, T dy) const {
    return x > T(0) ? T(0) : x * dy;
  }
};

// x, y are (B, n), slope (n).
class PreluPlan final : public millrace::LayerPlan {
 public:
  explicit PreluPlan(const millrace::PlanArgs& args) : rows_(args.output), train_(args.mode == millrace::Mode::train) {}

  // The terms, and the scratch for their sums.
  size_t scratch_bytes() const override {
    return train_ ? terms_bytes() + millrace::column_sum_scratch(rows_.spec()) : 0;
  }
  bool backward_reads_output() const override { return false; }

  void forward(millrace::Context& context, const millrace::ForwardArgs& args) override {
    const millrace::ConstTensorView& x = args.inputs[0];
    millrace::dispatch_float(x.dtype(), [&]<class T>() {
      millrace::for_each_row_column(context, x.rows(), x.columns(),
                                    PreluForward<T>{x.as<T>(), args.params[0].as<T>(), x.stride(),
                                                    millrace::Target<T>(context, {.view = args.output})});
    });
  }

  // The slope is read before its gradient is written: for plain SGD both are the same memory.
  void backward(millrace::Context& context, const millrace::BackwardArgs& args) override {
    const millrace::ConstTensorView &x = args.inputs[0], &dy = args.output_gradient, &slope = args.params[0];
    if (const millrace::Destination& dx = args.input_gradients[0]) {
      millrace::dispatch_float(x.dtype(), [&]<class T>() {
        millrace::for_each_row_column(context, x.rows(), x.columns(),
                                      PreluInputGradient<T>{x.as<T>(), dy.as<T>(), slope.as<T>(), x.stride(),
                                                            dy.stride(), millrace::Target<T>(context, dx)});
      });
    }
    if (const millrace::Destination& dslope = args.parameter_gradients[0]) {
      const millrace::TensorView terms(args.scratch, rows_.dtype(), rows_.shape(), rows_.row_bytes());
      millrace::zip_elements(context, x, dy, terms, PreluSlopeTerm{});
      millrace::column_sum(context, terms, dslope, static_cast<std::byte*>(args.scratch) + terms_bytes());
    }
  }

 private:
  size_t terms_bytes() const { return millrace::aligned_bytes(rows_.bytes()); }

  millrace::TensorView rows_;  // the layout of x and y; no data
  bool train_;
};

class PreluLayer final : public millrace::Layer {
 public:
  struct Options {
    double slope = 0.25;
    void declare(millrace::OptionReader& o) { o.optional("slope", slope, "the slope below 0 at the start"); }
  };
  static constexpr std::string_view kDoc = "leaky rectified linear unit with a trained slope for each column";

  explicit PreluLayer(const Options& options) : options_(options) {}

  millrace::TensorSpec build(std::span<const millrace::TensorSpec> inputs, millrace::ParamBuilder& params) override {
    millrace::require_vector(inputs[0]);
    params.parameter("slope", inputs[0].shape, millrace::Initializer::constant(options_.slope));
    return inputs[0];
  }
  std::unique_ptr<millrace::LayerPlan> plan(millrace::Context&, const millrace::PlanArgs& args) const override {
    return std::make_unique<PreluPlan>(args);
  }

 private:
  Options options_;
};
