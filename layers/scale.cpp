// scale: a trained factor and bias for each place along the last axis.
#include <cstddef>

#include "millrace/core/kernels/reduce.h"
#include "millrace/layers/catalog.h"
#include "millrace/layers/layer.h"
#include "millrace/layers/onnx_layer.h"
#include "millrace/layers/simple_layer.h"

namespace millrace {
namespace {

// A row holds `runs` runs of values along its last axis; run i of a batch is run i % runs of row i / runs.
// y = weight x, and + bias where there is one, along each run.
template <class T>
struct ScaleRun {
  const T* x;
  const T* weight;
  const T* bias;  // null: none
  int64_t x_stride, runs, length;
  Target<T> y;
  MILLRACE_HD void operator()(int64_t i, int64_t k) const {
    const int64_t row = i / runs, column = i % runs * length + k;
    const T scaled = weight[k] * x[row * x_stride + column];
    y.store(row, column, bias != nullptr ? scaled + bias[k] : scaled);
  }
};

// x, y are (B, .., n), weight and bias (n): dx = weight dy, dweight = the sums of x dy, dbias = the sums of dy.
class ScalePlan final : public LayerPlan {
 public:
  ScalePlan(const PlanArgs& args, bool bias)
      : rows_(args.output),
        length_(rows_.shape()[rows_.shape().rank() - 1]),
        runs_(rows_.columns() / length_),
        bias_(bias),
        mode_(args.mode) {}

  size_t scratch_bytes() const override {
    return mode_ == Mode::train ? product_bytes() + total_bytes() + column_sum_scratch(rows_.spec()) : 0;
  }
  bool backward_reads_output() const override { return false; }

  void forward(Context& context, const ForwardArgs& args) override {
    scale(context, args.inputs[0], args.params[0], bias_ ? args.params[1] : ConstTensorView(), {.view = args.output});
  }
  void backward(Context& context, const BackwardArgs& args) override {
    // The weight is read here and may be overwritten below.
    if (args.input_gradients[0]) scale(context, args.output_gradient, args.params[0], {}, args.input_gradients[0]);
    if (const Destination& weight = args.parameter_gradients[0]) {
      const TensorView product = rows_.at(args.scratch);
      zip_elements(context, args.inputs[0], args.output_gradient, product, Product{});
      sum_runs(context, product, weight, args.scratch);
    }
    if (bias_ && args.parameter_gradients[1]) {
      sum_runs(context, args.output_gradient, args.parameter_gradients[1], args.scratch);
    }
  }

 private:
  size_t product_bytes() const { return aligned_bytes(rows_.bytes()); }
  // The bytes of the sums over the rows, before the runs of a row are joined.
  size_t total_bytes() const { return aligned_bytes(TensorSpec{Shape{rows_.columns()}, rows_.dtype()}.bytes()); }

  void scale(Context& context, const ConstTensorView& x, const ConstTensorView& weight, const ConstTensorView& bias,
             const Destination& y) const {
    dispatch_float(x.dtype(), [&]<class T>() {
      for_each_row_column(
          context, x.rows() * runs_, length_,
          ScaleRun<T>{x.as<T>(), weight.as<T>(), bias.as<T>(), x.stride(), runs_, length_, Target<T>(context, y)});
    });
  }

  // sums (n) receives the sums of `values`, first over the rows, then over the runs of a row.
  void sum_runs(Context& context, const ConstTensorView& values, const Destination& sums, void* scratch) const {
    auto* const total = static_cast<std::byte*>(scratch) + product_bytes();
    auto* const partial = total + total_bytes();
    if (runs_ == 1) {
      column_sum(context, values, sums, partial);
      return;
    }
    const TensorView row(total, rows_.dtype(), Shape{runs_, length_});
    column_sum(context, values, {.view = row}, partial);
    column_sum(context, row, sums, partial);
  }

  TensorView rows_;  // the layout of x, y and their gradients; no data
  int64_t length_, runs_;
  bool bias_;
  Mode mode_;
};

class Scale final : public Layer {
 public:
  struct Options {
    bool bias = true;
    void declare(OptionReader& o) { o.optional("bias", bias, "whether a trained vector is added"); }
  };
  static constexpr std::string_view kDoc =
      "a trained factor and bias for each place along the last axis: x * weight + bias, ones and zeros at the start";

  explicit Scale(const Options& options) : bias_(options.bias) {}

  TensorSpec build(std::span<const TensorSpec> inputs, ParamBuilder& params) override {
    require_last_axis(inputs[0]);
    const int64_t length = inputs[0].shape[inputs[0].shape.rank() - 1];
    params.parameter("weight", {length}, Initializer::constant(1));
    if (bias_) params.parameter("bias", {length}, Initializer::constant(0));
    return inputs[0];
  }
  std::unique_ptr<LayerPlan> plan(Context&, const PlanArgs& args) const override {
    return std::make_unique<ScalePlan>(args, bias_);
  }
  OnnxValue to_onnx(const OnnxLayer& layer) const override {
    const OnnxValue scaled = layer.graph.add("Mul", {layer.inputs[0], layer.params[0]});
    return bias_ ? layer.graph.add("Add", {scaled, layer.params[1]}) : scaled;
  }

 private:
  bool bias_;
};

}  // namespace
}  // namespace millrace

MILLRACE_REGISTER_LAYER(scale, Scale);
