#include <cstddef>

#include "millrace/core/kernels/gemm.h"
#include "millrace/core/kernels/reduce.h"
#include "millrace/layers/activation.h"
#include "millrace/layers/catalog.h"
#include "millrace/layers/elementwise.h"
#include "millrace/layers/shape_checks.h"

namespace millrace {
namespace {

struct DenseOptions {
  int64_t units = 0;
  Activation activation = Activation::none;
  bool bias = true;
  void declare(OptionReader& o) {
    o.required("units", units, {.min = 1, .max = 1 << 30}, "values of the output");
    o.optional("activation", activation, "applied to the output");
    o.optional("bias", bias, "whether a trained vector is added to the output");
  }
};

// x is (B, in), weight (units, in), y (B, units): y = activation(x weight^T + bias).
// dz is the gradient before the activation: dx = dz weight, dweight = dz^T x, dbias = the sums of dz's columns.
class DensePlan final : public LayerPlan {
 public:
  DensePlan(Context& context, const PlanArgs& args, const DenseOptions& options) : options_(options) {
    const TensorView& x = args.inputs[0];
    const TensorView& y = args.output;
    const int64_t batch = x.rows(), in = x.columns(), units = options.units;
    dz_ = TensorView(nullptr, y.dtype(), y.shape(), aligned_bytes(static_cast<size_t>(units) * size_of(y.dtype())));

    GemmSpec forward{.m = batch, .n = units, .k = in, .dtype = x.dtype(), .transpose_b = true};
    forward.lda = x.stride();
    forward.ldb = in;
    forward.ldc = y.stride();
    forward.bias = options.bias;
    forward.activation = options.activation;
    forward_ = make_gemm(context, forward);
    if (args.mode == Mode::predict) return;

    // Without an activation dz is the output's own gradient, which lies like the output.
    const int64_t dz_stride = fused() ? dz_.stride() : y.stride();
    if (args.input_gradients[0] != GradientUse::none) {
      GemmSpec input{.m = batch, .n = in, .k = units, .dtype = x.dtype()};
      input.lda = dz_stride;
      input.ldb = in;
      input.ldc = x.stride();
      input.beta = args.input_gradients[0] == GradientUse::add ? 1.0F : 0.0F;
      input_gradient_ = make_gemm(context, input);
    }
    if (args.parameter_gradients != GradientUse::none) {
      GemmSpec weight{.m = units, .n = in, .k = batch, .dtype = x.dtype(), .transpose_a = true};
      weight.lda = dz_stride;
      weight.ldb = x.stride();
      weight.ldc = in;
      weight.beta = args.parameter_gradients == GradientUse::add ? 1.0F : 0.0F;
      weight_gradient_ = make_gemm(context, weight);
    }
  }

  size_t scratch_bytes() const override {
    if (weight_gradient_ == nullptr && input_gradient_ == nullptr) return 0;
    return dz_bytes() + (options_.bias ? column_sum_scratch(dz_.spec()) : 0);
  }
  bool backward_reads_output() const override { return fused(); }
  size_t bytes() const override {
    size_t total = 0;
    for (const Gemm* gemm : {forward_.get(), input_gradient_.get(), weight_gradient_.get()}) {
      if (gemm != nullptr) total += gemm->bytes();
    }
    return total;
  }

  void forward(Context& context, const ForwardArgs& args) override {
    forward_->run(context, {.a = args.inputs[0].data(),
                            .b = args.params[0].data(),
                            .c = args.output.data(),
                            .bias = options_.bias ? args.params[1].data() : nullptr});
  }

  void backward(Context& context, const BackwardArgs& args) override {
    const ConstTensorView dz = gradient_before_activation(context, args);
    // The weight is read here and may be overwritten below.
    if (const Destination& dx = args.input_gradients[0]) {
      input_gradient_->run(context,
                           {.a = dz.data(), .b = args.params[0].data(), .c = dx.view.data(), .alpha = dx.alpha});
    }
    if (const Destination& weight = args.parameter_gradients[0]) {
      weight_gradient_->run(
          context, {.a = dz.data(), .b = args.inputs[0].data(), .c = weight.view.data(), .alpha = weight.alpha});
    }
    if (options_.bias && args.parameter_gradients[1]) {
      column_sum(context, dz, args.parameter_gradients[1], static_cast<std::byte*>(args.scratch) + dz_bytes());
    }
  }

 private:
  bool fused() const { return options_.activation == Activation::relu; }
  size_t dz_bytes() const { return fused() ? dz_.row_bytes() * static_cast<size_t>(dz_.rows()) : 0; }

  ConstTensorView gradient_before_activation(Context& context, const BackwardArgs& args) const {
    if (!fused()) return args.output_gradient;
    const TensorView dz(args.scratch, dz_.dtype(), dz_.shape(), dz_.row_bytes());
    zip_elements(context, args.output, args.output_gradient, dz, ReluGradient{});
    return dz;
  }

  DenseOptions options_;
  TensorView dz_;  // shape and stride of dz in scratch; no data
  std::unique_ptr<Gemm> forward_, input_gradient_, weight_gradient_;
};

class Dense final : public Layer {
 public:
  using Options = DenseOptions;
  static constexpr std::string_view kDoc = "a fully connected layer: activation(x weight^T + bias)";

  explicit Dense(const Options& options) : options_(options) {}

  TensorSpec build(std::span<const TensorSpec> inputs, ParamBuilder& params) override {
    require_float(inputs[0]);
    require_vector(inputs[0]);
    const int64_t in = inputs[0].shape[0], units = options_.units;
    params.parameter("weight", {units, in}, {Initializer::Kind::glorot_uniform, in, units});
    if (options_.bias) params.parameter("bias", {units}, {Initializer::Kind::zeros});
    return {Shape{units}, inputs[0].dtype};
  }
  std::unique_ptr<LayerPlan> plan(Context& context, const PlanArgs& args) const override {
    return std::make_unique<DensePlan>(context, args, options_);
  }

 private:
  Options options_;
};

}  // namespace
}  // namespace millrace

MILLRACE_REGISTER_LAYER(dense, Dense);
