// dense: a product with a trained matrix, a bias, an activation; its gradients are two more products and a sum.
#include "millrace/layers/dense.h"

#include <cstddef>
#include <vector>

#include "millrace/core/kernels/gemm.h"
#include "millrace/core/kernels/reduce.h"
#include "millrace/layers/activations/output_activation.h"
#include "millrace/layers/catalog.h"
#include "millrace/layers/onnx_layer.h"

namespace millrace {
namespace {

// x is (B, in), weight (units, in), y (B, units): z = x weight^T + bias, y = activation(z).
// dz is the gradient before the activation: dx = dz weight, dweight = dz^T x, dbias = the sums of dz's columns.
class DensePlan final : public LayerPlan {
 public:
  DensePlan(Context& context, const PlanArgs& args, const DenseOptions& options)
      : bias_(options.bias), activation_(options.activation, args), rows_(args.output.spec()) {
    const TensorView& x = args.inputs[0];
    const int64_t batch = x.rows(), in = x.columns(), units = options.units, stride = args.output.stride();

    GemmSpec forward{.m = batch, .n = units, .k = in, .dtype = x.dtype(), .transpose_b = true};
    forward.lda = x.stride();
    forward.ldc = stride;
    forward.bias = options.bias;
    forward.activation = activation_.fused();
    forward.rows_alone = args.rows_alone;
    forward_ = make_gemm(context, forward);
    if (args.mode == Mode::predict) return;

    if (args.input_gradients[0] != GradientUse::none) {
      GemmSpec input{.m = batch, .n = in, .k = units, .dtype = x.dtype()};
      input.lda = stride;
      input.ldc = x.stride();
      input.beta = args.input_gradients[0] == GradientUse::add ? 1.0F : 0.0F;
      input_gradient_ = make_gemm(context, input);
    }
    if (args.parameter_gradients != GradientUse::none) {
      GemmSpec weight{.m = units, .n = in, .k = batch, .dtype = x.dtype(), .transpose_a = true};
      weight.lda = stride;
      weight.ldb = x.stride();
      weight.beta = args.parameter_gradients == GradientUse::add ? 1.0F : 0.0F;
      weight_gradient_ = make_gemm(context, weight);
    }
  }

  size_t saved_bytes() const override { return activation_.saved_bytes(); }
  size_t scratch_bytes() const override {
    if (weight_gradient_ == nullptr && input_gradient_ == nullptr) return 0;
    return activation_.scratch_bytes() + (bias_ ? column_sum_scratch(rows_) : 0);
  }
  bool backward_reads_output() const override { return activation_.backward_reads_output(); }
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
                            .c = activation_.product(args).data(),
                            .bias = bias_ ? args.params[1].data() : nullptr});
    activation_.forward(context, args);
  }

  void backward(Context& context, const BackwardArgs& args) override {
    void* const sums = static_cast<std::byte*>(args.scratch) + activation_.scratch_bytes();
    const Destination &weight = args.parameter_gradients[0],
                      &bias = bias_ ? args.parameter_gradients[1] : Destination{};
    const ConstTensorView dz = activation_.product_gradient(context, args, bias, sums);
    // The weight is read here and may be overwritten below.
    if (const Destination& dx = args.input_gradients[0]) {
      input_gradient_->run(context,
                           {.a = dz.data(), .b = args.params[0].data(), .c = dx.view.data(), .alpha = dx.alpha});
    }
    if (weight) {
      weight_gradient_->run(
          context, {.a = dz.data(), .b = args.inputs[0].data(), .c = weight.view.data(), .alpha = weight.alpha});
    }
  }

 private:
  bool bias_;
  OutputActivation activation_;
  TensorSpec rows_;  // of the output
  std::unique_ptr<Gemm> forward_, input_gradient_, weight_gradient_;
};

}  // namespace

void DenseOptions::declare(OptionReader& o) {
  o.required("units", units, {.min = 1, .max = 1 << 30}, "values of the output");
  o.optional("activation", activation, "applied to the output");
  o.used_as("activation", OptionUse::activation);
  o.optional("bias", bias, "whether a trained vector is added to the output");
}

TensorSpec Dense::build(std::span<const TensorSpec> inputs, ParamBuilder& params) {
  require_vector(inputs[0]);
  const int64_t in = inputs[0].shape[0], units = options_.units;
  params.parameter("weight", {units, in}, glorot_uniform(in, units));
  if (options_.bias) params.parameter("bias", {units}, Initializer::constant(0));
  return {Shape{units}, params.dtype()};
}

std::unique_ptr<LayerPlan> Dense::plan(Context& context, const PlanArgs& args) const {
  return std::make_unique<DensePlan>(context, args, options_);
}

OnnxValue Dense::to_onnx(const OnnxLayer& layer) const {
  std::vector<OnnxValue> inputs = {layer.inputs[0]};
  inputs.insert(inputs.end(), layer.params.begin(), layer.params.end());
  const OnnxValue product = layer.graph.add("Gemm", inputs, {{"transB", int64_t{1}}});
  return add_activation(layer.graph, options_.activation, product);
}

}  // namespace millrace

MILLRACE_REGISTER_LAYER(dense, Dense);
