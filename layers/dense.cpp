#include <cstddef>
#include <memory>
#include <optional>

#include "millrace/core/kernels/gemm.h"
#include "millrace/core/kernels/reduce.h"
#include "millrace/layers/activations/output_activation.h"
#include "millrace/layers/catalog.h"
#include "millrace/layers/gradients/one_output.h"
#include "millrace/layers/layer.h"

namespace millrace {
namespace {

struct DenseOptions {
  int64_t units = 0;
  Activation activation = Activation::none;
  bool bias = true;
  void declare(OptionReader& o) {
    o.required("units", units, {.min = 1, .max = 1 << 30}, "values of the output");
    o.optional("activation", activation, "applied to the output");
    o.used_as("activation", OptionUse::activation);
    o.optional("bias", bias, "whether a trained vector is added to the output");
  }
};

// x is (B, in), weight (units, in), y (B, units): z = x weight^T + bias, y = activation(z).
// dz is the gradient before the activation: dx = dz weight, dweight = dz^T x, dbias = the sums of dz's columns.
class DensePlan final : public LayerPlan {
 public:
  DensePlan(Context& context, const PlanArgs& args, const DenseOptions& options)
      : bias_(options.bias),
        leaves_rectifier_(args.leaves_rectifier),
        takes_rectifier_(args.takes_rectifier),
        activated_(options.activation != Activation::none),
        activation_(args.leaves_rectifier ? Activation::none : options.activation, args),
        rows_(args.output.spec()) {
    const TensorView& x = args.inputs[0];
    const int64_t batch = x.rows(), in = x.columns(), units = options.units, stride = args.output.stride();
    inputs_ = x.spec();

    GemmSpec forward{.m = batch, .n = units, .k = in, .dtype = x.dtype(), .transpose_b = true};
    forward.lda = x.stride();
    forward.ldb = in;
    forward.ldc = stride;
    forward.bias = options.bias;
    forward.activation = activation_.fused();
    forward_ = make_gemm(context, forward);
    if (args.mode == Mode::predict) return;
    one_pass_ = units == 1 && x.dtype() == DType::f32 && !context.device().is_cpu() &&
                args.parameter_gradients != GradientUse::none;
    if (one_pass_) {
      ticket_ = Memory(context.device(), sizeof(unsigned));
      return;
    }

    if (args.input_gradients[0] != GradientUse::none) {
      GemmSpec input{.m = batch, .n = in, .k = units, .dtype = x.dtype()};
      input.lda = stride;
      input.ldb = in;
      input.ldc = x.stride();
      input.beta = args.input_gradients[0] == GradientUse::add ? 1.0F : 0.0F;
      input_gradient_ = make_gemm(context, input);
    }
    if (args.parameter_gradients != GradientUse::none) {
      GemmSpec weight{.m = units, .n = in, .k = batch, .dtype = x.dtype(), .transpose_a = true};
      weight.lda = stride;
      weight.ldb = x.stride();
      weight.ldc = in;
      weight.beta = args.parameter_gradients == GradientUse::add ? 1.0F : 0.0F;
      weight_gradient_ = make_gemm(context, weight);
    }
  }

  size_t saved_bytes() const override { return activation_.saved_bytes(); }
  size_t scratch_bytes() const override {
    if (one_pass_) return activation_.scratch_bytes() + one_output_scratch(inputs_);
    if (weight_gradient_ == nullptr && input_gradient_ == nullptr) return 0;
    return activation_.scratch_bytes() + (bias_ && !leaves_rectifier_ ? column_sum_scratch(rows_) : 0);
  }
  bool backward_reads_output() const override { return activation_.backward_reads_output(); }
  size_t bytes() const override {
    size_t total = ticket_.bytes();
    for (const Gemm* gemm : {forward_.get(), input_gradient_.get(), weight_gradient_.get()}) {
      if (gemm != nullptr) total += gemm->bytes();
    }
    return total;
  }

  std::optional<Head> head(const ForwardArgs& args) const override {
    if (!one_pass_ || activated_) return std::nullopt;
    return one_output(args);
  }

  void forward(Context& context, const ForwardArgs& args) override {
    if (takes_rectifier_) {
      compute_head(context, one_output(args));
      activation_.forward_all(context, args);
      return;
    }
    forward_->run(context, {.a = args.inputs[0].data(),
                            .b = args.params[0].data(),
                            .c = activation_.product(args).data(),
                            .bias = bias_ ? args.params[1].data() : nullptr});
    activation_.forward(context, args);
  }

  void backward(Context& context, const BackwardArgs& args) override {
    void* const sums = static_cast<std::byte*>(args.scratch) + activation_.scratch_bytes();
    const Destination &weight = args.parameter_gradients[0],
                      &bias = bias_ && !leaves_rectifier_ ? args.parameter_gradients[1] : Destination{};
    if (one_pass_) {
      one_output_gradients(context,
                           {.x = args.inputs[0],
                            .weight = args.params[0],
                            .dy = activation_.product_gradient(context, args),
                            .dx = args.input_gradients[0],
                            .dweight = weight,
                            .dbias = bias,
                            .rectified = takes_rectifier_,
                            .sums = args.input_sums},
                           sums);
      return;
    }
    const ConstTensorView dz =
        bias ? activation_.product_gradient(context, args, bias, sums) : activation_.product_gradient(context, args);
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
  // The product of a layer with one output.
  Head one_output(const ForwardArgs& args) const {
    return {.x = args.inputs[0],
            .rectified = args.rectified,
            .weight = args.params[0],
            .bias = bias_ ? args.params[1] : ConstTensorView(),
            .y = activation_.product(args),
            .ticket = static_cast<unsigned*>(ticket_.data())};
  }

  bool bias_, leaves_rectifier_, takes_rectifier_, activated_;
  bool one_pass_ = false;  // backward, whose products are null then
  Memory ticket_;          // then
  TensorSpec inputs_;
  OutputActivation activation_;
  TensorSpec rows_;  // of the output
  std::unique_ptr<Gemm> forward_, input_gradient_, weight_gradient_;
};

class Dense final : public Layer {
 public:
  using Options = DenseOptions;
  static constexpr std::string_view kDoc = "a fully connected layer: activation(x weight^T + bias)";
  static constexpr std::string_view kExample = "units: 64, activation: relu";

  explicit Dense(const Options& options) : options_(options) {}

  TensorSpec build(std::span<const TensorSpec> inputs, ParamBuilder& params) override {
    require_vector(inputs[0]);
    const int64_t in = inputs[0].shape[0], units = options_.units;
    params.parameter("weight", {units, in}, glorot_uniform(in, units));
    if (options_.bias) params.parameter("bias", {units}, Initializer::constant(0));
    return {Shape{units}, params.dtype()};
  }
  bool can_leave_rectifier() const override { return options_.activation == Activation::relu; }
  bool can_take_rectifier() const override { return options_.units == 1; }
  std::unique_ptr<LayerPlan> plan(Context& context, const PlanArgs& args) const override {
    return std::make_unique<DensePlan>(context, args, options_);
  }

 private:
  Options options_;
};

}  // namespace
}  // namespace millrace

MILLRACE_REGISTER_LAYER(dense, Dense);
