#include <cstddef>

#include "millrace/core/kernels/gemm.h"
#include "millrace/core/kernels/reduce.h"
#include "millrace/layers/activations/activation.h"
#include "millrace/layers/catalog.h"
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

// x is (B, in), weight (units, in), y (B, units): z = x weight^T + bias, y = activation(z).
// dz is the gradient before the activation: dx = dz weight, dweight = dz^T x, dbias = the sums of dz's columns.
class DensePlan final : public LayerPlan {
 public:
  DensePlan(Context& context, const PlanArgs& args, const DenseOptions& options)
      : options_(options),
        reads_(gradient_reads(options.activation)),
        activates_(options.activation != Activation::none &&
                   fused_activation(options.activation) == FusedActivation::none),
        rows_(args.output),
        mode_(args.mode) {
    const TensorView& x = args.inputs[0];
    const int64_t batch = x.rows(), in = x.columns(), units = options.units;

    GemmSpec forward{.m = batch, .n = units, .k = in, .dtype = x.dtype(), .transpose_b = true};
    forward.lda = x.stride();
    forward.ldb = in;
    forward.ldc = rows_.stride();
    forward.bias = options.bias;
    forward.activation = fused_activation(options.activation);
    forward_ = make_gemm(context, forward);
    if (mode_ == Mode::predict) return;

    if (args.input_gradients[0] != GradientUse::none) {
      GemmSpec input{.m = batch, .n = in, .k = units, .dtype = x.dtype()};
      input.lda = rows_.stride();
      input.ldb = in;
      input.ldc = x.stride();
      input.beta = args.input_gradients[0] == GradientUse::add ? 1.0F : 0.0F;
      input_gradient_ = make_gemm(context, input);
    }
    if (args.parameter_gradients != GradientUse::none) {
      GemmSpec weight{.m = units, .n = in, .k = batch, .dtype = x.dtype(), .transpose_a = true};
      weight.lda = rows_.stride();
      weight.ldb = x.stride();
      weight.ldc = in;
      weight.beta = args.parameter_gradients == GradientUse::add ? 1.0F : 0.0F;
      weight_gradient_ = make_gemm(context, weight);
    }
  }

  size_t saved_bytes() const override { return keeps_z() ? rows_.bytes() : 0; }
  size_t scratch_bytes() const override {
    if (weight_gradient_ == nullptr && input_gradient_ == nullptr) return 0;
    return dz_bytes() + (options_.bias ? column_sum_scratch(rows_.spec()) : 0);
  }
  bool backward_reads_output() const override { return reads_ == GradientReads::y; }
  size_t bytes() const override {
    size_t total = 0;
    for (const Gemm* gemm : {forward_.get(), input_gradient_.get(), weight_gradient_.get()}) {
      if (gemm != nullptr) total += gemm->bytes();
    }
    return total;
  }

  void forward(Context& context, const ForwardArgs& args) override {
    const TensorView z = keeps_z() ? rows_at(args.saved) : args.output;
    forward_->run(context, {.a = args.inputs[0].data(),
                            .b = args.params[0].data(),
                            .c = z.data(),
                            .bias = options_.bias ? args.params[1].data() : nullptr});
    if (activates_) activate(context, options_.activation, z, args.output);
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
  bool keeps_z() const { return reads_ == GradientReads::z && mode_ == Mode::train; }
  // Of dz in scratch; without an activation dz is the output's own gradient.
  size_t dz_bytes() const { return reads_ == GradientReads::nothing ? 0 : aligned_bytes(rows_.bytes()); }
  template <class Void>
  BasicTensorView<Void> rows_at(Void* data) const {
    return BasicTensorView<Void>(data, rows_.dtype(), rows_.shape(), rows_.row_bytes());
  }

  ConstTensorView gradient_before_activation(Context& context, const BackwardArgs& args) const {
    const TensorView dz = rows_at(args.scratch);
    switch (reads_) {
      case GradientReads::nothing: return args.output_gradient;
      case GradientReads::z:
        activation_gradient(context, options_.activation, rows_at(args.saved), args.output_gradient, {.view = dz});
        break;
      case GradientReads::y:
        activation_gradient(context, options_.activation, args.output, args.output_gradient, {.view = dz});
        break;
    }
    return dz;
  }

  DenseOptions options_;
  GradientReads reads_;
  bool activates_;   // behind the product
  TensorView rows_;  // how y, its gradient, z and dz lie; no data
  Mode mode_;
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
  std::unique_ptr<LayerPlan> plan(Context& context, const PlanArgs& args) const override {
    return std::make_unique<DensePlan>(context, args, options_);
  }

 private:
  Options options_;
};

}  // namespace
}  // namespace millrace

MILLRACE_REGISTER_LAYER(dense, Dense);
