// follow: a layer with state, saved values and passes that differ by mode, for tests: y = m (x - m) for each column, m
// its running mean, which a batch moves half the way to its own mean while training.
#pragma once

#include <memory>
#include <string_view>

#include "millrace/layers/catalog.h"
#include "millrace/layers/simple_layer.h"

namespace millrace::testing {

class FollowPlan final : public LayerPlan {
 public:
  explicit FollowPlan(const PlanArgs& args) : rows_(args.output), training_(args.mode == Mode::train) {}

  // x - m of every value.
  size_t saved_bytes() const override { return training_ ? rows_.bytes() : 0; }
  bool backward_reads_inputs() const override { return false; }
  bool backward_reads_output() const override { return false; }

  void forward(Context&, const ForwardArgs& args) override {
    dispatch_float(rows_.dtype(), [&]<class T>() { forward_of<T>(args); });
  }
  void backward(Context& context, const BackwardArgs& args) override {
    if (!args.input_gradients[0]) return;
    dispatch_float(rows_.dtype(), [&]<class T>() { backward_of<T>(context, args); });
  }

 private:
  template <class T>
  void forward_of(const ForwardArgs& args) const {
    const T* x = args.inputs[0].as<T>();
    const int64_t stride = args.inputs[0].stride();
    for (int64_t column = 0; column < rows_.columns(); ++column) {
      if (training_) {
        T mean = T(0);
        for (int64_t row = 0; row < rows_.rows(); ++row) mean += x[row * stride + column];
        T& m = args.mutable_state[0].as<T>()[column];
        m = (m + mean / static_cast<T>(rows_.rows())) / T(2);
      }
      const T m = args.state[0].as<T>()[column];
      for (int64_t row = 0; row < rows_.rows(); ++row) {
        const T centred = x[row * stride + column] - m;
        if (training_) static_cast<T*>(args.saved)[row * rows_.stride() + column] = centred;
        args.output.as<T>()[row * rows_.stride() + column] = m * centred;
      }
    }
  }

  template <class T>
  void backward_of(Context& context, const BackwardArgs& args) const {
    const auto* centred = static_cast<const T*>(args.saved);
    const ConstTensorView& dy = args.output_gradient;
    const Target<T> dx(context, args.input_gradients[0]);
    for (int64_t column = 0; column < rows_.columns(); ++column) {
      const T m = args.state[0].as<T>()[column];
      T through_m = T(0);
      for (int64_t row = 0; row < rows_.rows(); ++row) {
        through_m += dy.as<T>()[row * dy.stride() + column] * (centred[row * rows_.stride() + column] - m);
      }
      through_m /= static_cast<T>(2 * rows_.rows());
      for (int64_t row = 0; row < rows_.rows(); ++row) {
        dx.store(row, column, m * dy.as<T>()[row * dy.stride() + column] + through_m);
      }
    }
  }

  TensorView rows_;
  bool training_;
};

class FollowLayer final : public Layer {
 public:
  struct Options {
    double begin = 0.5;
    void declare(OptionReader& o) { o.optional("begin", begin, "the first running mean"); }
  };
  static constexpr std::string_view kDoc = "m (x - m), m the running mean";

  explicit FollowLayer(const Options& options) : begin_(options.begin) {}

  TensorSpec build(std::span<const TensorSpec> inputs, ParamBuilder& params) override {
    params.state("mean", inputs[0].shape, Initializer::constant(begin_));
    return inputs[0];
  }
  std::unique_ptr<LayerPlan> plan(Context&, const PlanArgs& args) const override {
    return std::make_unique<FollowPlan>(args);
  }

 private:
  double begin_;
};

inline LayerCatalog with_follow() {
  LayerCatalog catalog = LayerCatalog::builtin();
  catalog.layers.add<FollowLayer>("follow");
  return catalog;
}

}  // namespace millrace::testing
