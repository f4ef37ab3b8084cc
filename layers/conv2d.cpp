// conv2d: a convolution of images. The products are core/kernels/images/convolution.h's.
#include <utility>
#include <vector>

#include "millrace/core/kernels/images/convolution.h"
#include "millrace/layers/activations/output_activation.h"
#include "millrace/layers/catalog.h"
#include "millrace/layers/images/onnx_window.h"
#include "millrace/layers/images/window.h"
#include "millrace/layers/onnx_layer.h"

namespace millrace {
namespace {

struct Conv2dOptions {
  int64_t filters = 0;
  Window window;
  int64_t groups = 1;
  Activation activation = Activation::none;
  bool bias = true;
  void declare(OptionReader& o) {
    o.required("filters", filters, {.min = 1, .max = 1 << 20}, "channels of the output");
    o.required("kernel", window.kernel, "size of the windows");
    o.optional("stride", window.stride, "pixels from one window to the next");
    o.optional(
        "padding", window.padding,
        "zeros around the image: valid adds none, same adds as many as make the output size / stride long, rounded "
        "up; an odd one comes after the image");
    o.optional("dilation", window.dilation, "pixels between neighbours in a window");
    o.optional("groups", groups, {.min = 1, .max = 1 << 20},
               "parts of the channels that do not mix; with as many groups as channels it is depthwise");
    o.optional("activation", activation, "applied to the output");
    o.used_as("activation", OptionUse::activation);
    o.optional("bias", bias, "whether a trained value for each filter is added to the output");
  }
};

ConvolutionSpec spec_of(const Conv2dOptions& options, const Shape& row) {
  return {.in_channels = row[0],
          .out_channels = options.filters,
          .groups = options.groups,
          .height = options.window.over_height(row[1]),
          .width = options.window.over_width(row[2])};
}

// y = activation(x * weight + bias); dz is the gradient before the activation.
class Conv2dPlan final : public LayerPlan {
 public:
  Conv2dPlan(Context& context, const PlanArgs& args, const Conv2dOptions& options)
      : bias_(options.bias), activation_(options.activation, args) {
    ConvolutionSpec spec = spec_of(options, args.inputs[0].shape().row());
    spec.batch = args.output.rows();
    spec.dtype = args.output.dtype();
    forward_ = make_convolution(context, spec,
                                {.bias = bias_, .activation = activation_.fused(), .images_alone = args.rows_alone});
    if (args.mode == Mode::predict) return;
    if (args.input_gradients[0] != GradientUse::none) {
      const float beta = args.input_gradients[0] == GradientUse::add ? 1.0F : 0.0F;
      input_gradient_ = make_convolution(context, spec, {.pass = ConvolutionPass::input_gradient, .beta = beta});
    }
    if (args.parameter_gradients != GradientUse::none) {
      weight_gradient_ = make_convolution(context, spec, {.pass = ConvolutionPass::weight_gradient, .bias = bias_});
    }
  }

  size_t saved_bytes() const override { return activation_.saved_bytes(); }
  size_t scratch_bytes() const override { return activation_.scratch_bytes(); }
  bool backward_reads_output() const override { return activation_.backward_reads_output(); }
  size_t bytes() const override {
    return forward_->bytes() + (input_gradient_ ? input_gradient_->bytes() : 0) +
           (weight_gradient_ ? weight_gradient_->bytes() : 0);
  }

  void forward(Context& context, const ForwardArgs& args) override {
    forward_->run(context, {.x = args.inputs[0].data(),
                            .weight = args.params[0].data(),
                            .bias = bias_ ? args.params[1].data() : nullptr,
                            .y = activation_.product(args).data()});
    activation_.forward(context, args);
  }

  void backward(Context& context, const BackwardArgs& args) override {
    const ConstTensorView dz = activation_.product_gradient(context, args);
    // The weight is read here and may be overwritten below.
    if (const Destination& dx = args.input_gradients[0]) {
      input_gradient_->run(context, {.weight = args.params[0].data(), .dy = dz.data(), .dx = dx});
    }
    if (!args.parameter_gradients[0]) return;
    weight_gradient_->run(context, {.x = args.inputs[0].data(),
                                    .dy = dz.data(),
                                    .dweight = args.parameter_gradients[0],
                                    .dbias = bias_ ? args.parameter_gradients[1] : Destination{}});
  }

 private:
  bool bias_;
  OutputActivation activation_;
  std::unique_ptr<Convolution> forward_, input_gradient_, weight_gradient_;
};

class Conv2d final : public Layer {
 public:
  using Options = Conv2dOptions;
  static constexpr std::string_view kDoc =
      "a convolution of images, (channels, height, width): activation(x * weight + bias)";
  static constexpr std::string_view kExample = "filters: 20, kernel: 5, padding: same, activation: relu";

  explicit Conv2d(const Options& options) : options_(options) {}

  LayoutUse layout_use() const override { return LayoutUse::images; }
  bool convolves() const override { return true; }
  TensorSpec build(std::span<const TensorSpec> inputs, ParamBuilder& params) override {
    require_image(inputs[0]);
    const int64_t groups = options_.groups, filters = options_.filters;
    require_groups(groups, inputs[0].shape[0], filters);
    require_fit(options_.window, inputs[0]);
    const ConvolutionSpec spec = spec_of(options_, inputs[0].shape);
    const Shape weight = spec.weight().shape;
    params.parameter("weight", weight,
                     glorot_uniform(weight.row().elements(), filters / groups * weight[2] * weight[3]));
    if (options_.bias) params.parameter("bias", {filters}, Initializer::constant(0));
    return {Shape{filters, spec.height.out(), spec.width.out()}, params.dtype()};
  }
  std::unique_ptr<LayerPlan> plan(Context& context, const PlanArgs& args) const override {
    return std::make_unique<Conv2dPlan>(context, args, options_);
  }
  OnnxValue to_onnx(const OnnxLayer& layer) const override {
    const ConvolutionSpec spec = spec_of(options_, layer.input_specs[0].shape);
    std::vector<OnnxValue> inputs = {layer.inputs[0]};
    inputs.insert(inputs.end(), layer.params.begin(), layer.params.end());
    std::vector<OnnxAttribute> window = onnx_window(spec.height, spec.width);
    window.push_back({"dilations", std::vector{spec.height.dilation, spec.width.dilation}});
    window.push_back({"group", spec.groups});
    const OnnxValue product = layer.graph.add("Conv", inputs, std::move(window));
    return add_activation(layer.graph, options_.activation, product);
  }

 private:
  Options options_;
};

}  // namespace
}  // namespace millrace

MILLRACE_REGISTER_LAYER(conv2d, Conv2d);
