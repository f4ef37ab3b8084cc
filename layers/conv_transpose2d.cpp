// conv_transpose2d: a transposed convolution, which makes images larger.
#include <utility>
#include <vector>

#include "millrace/core/kernels/images/channels.h"
#include "millrace/core/kernels/images/convolution.h"
#include "millrace/layers/activations/output_activation.h"
#include "millrace/layers/catalog.h"
#include "millrace/layers/images/images.h"
#include "millrace/layers/images/onnx_window.h"
#include "millrace/layers/images/window.h"
#include "millrace/layers/onnx_layer.h"
#include "millrace/layers/simple_layer.h"

namespace millrace {
namespace {

struct ConvTranspose2dOptions {
  int64_t filters = 0;
  Window window;
  int64_t groups = 1;
  Activation activation = Activation::none;
  bool bias = true;
  void declare(OptionReader& o) {
    o.required("filters", filters, {.min = 1, .max = 1 << 20}, "channels of the output");
    o.required("kernel", window.kernel, "size of the windows");
    o.optional("stride", window.stride, "pixels of the output from one window to the next");
    o.optional("padding", window.padding,
               "what is cut off the output: valid cuts nothing, same cuts it to the input's size times the stride, an "
               "odd pixel at the end");
    o.optional("dilation", window.dilation, "pixels between neighbours in a window");
    o.optional("groups", groups, {.min = 1, .max = 1 << 20}, "parts of the channels that do not mix");
    o.optional("activation", activation, "applied to the output");
    o.used_as("activation", OptionUse::activation);
    o.optional("bias", bias, "whether a trained value for each filter is added to the output");
  }
};

// Pixels of the output along an axis; less than 1 if the padding leaves none.
int64_t out_of(int64_t in, int64_t stride, const ConvolutionSpec::Axis& window, const Padding& padding) {
  if (padding.kind == Padding::Kind::same) return in * stride;
  return (in - 1) * stride + window.reach() - window.before - window.after;
}

// The convolution that this layer transposes: its input is this layer's output.
ConvolutionSpec spec_of(const ConvTranspose2dOptions& options, const Shape& row) {
  const Window& window = options.window;
  ConvolutionSpec spec;
  spec.in_channels = options.filters;
  spec.out_channels = row[0];
  spec.groups = options.groups;
  spec.height = window.over_height(out_of(row[1], window.stride.height, window.over_height(row[1]), window.padding));
  spec.width = window.over_width(out_of(row[2], window.stride.width, window.over_width(row[2]), window.padding));
  return spec;
}

// Images are rows of `columns` values. With `pixels`, a row is a pixel; else it is a channel of an image.
template <class T>
struct AddToChannels {
  T* images;
  const T* values;
  int64_t columns, channels;
  bool pixels;
  MILLRACE_HD void operator()(int64_t row, int64_t column) const {
    images[row * columns + column] += values[pixels ? column : row % channels];
  }
};

class ConvTranspose2dPlan final : public LayerPlan {
 public:
  ConvTranspose2dPlan(Context& context, const PlanArgs& args, const ConvTranspose2dOptions& options)
      : bias_(options.bias), activation_(options.activation, args) {
    ConvolutionSpec spec = spec_of(options, args.inputs[0].shape().row());
    spec.batch = args.output.rows();
    spec.dtype = args.output.dtype();
    const Shape& out = args.output.shape();
    channels_ = {out[0], out[1], out[2] * out[3], spec.dtype};
    if (bias_) sum_bytes_ = channel_sum_scratch(context.device(), channels_);
    forward_ =
        make_convolution(context, spec, {.pass = ConvolutionPass::input_gradient, .images_alone = args.rows_alone});
    if (args.mode == Mode::predict) return;
    if (args.input_gradients[0] != GradientUse::none) {
      input_gradient_ = make_convolution(context, spec, {});
      adds_ = args.input_gradients[0] == GradientUse::add;
      input_ = args.inputs[0];
    }
    if (args.parameter_gradients != GradientUse::none) {
      weight_gradient_ = make_convolution(context, spec, {.pass = ConvolutionPass::weight_gradient});
    }
  }

  size_t saved_bytes() const override { return activation_.saved_bytes(); }
  size_t scratch_bytes() const override { return activation_.scratch_bytes() + std::max(dx_bytes(), sum_bytes_); }
  bool backward_reads_output() const override { return activation_.backward_reads_output(); }
  size_t bytes() const override {
    return forward_->bytes() + (input_gradient_ ? input_gradient_->bytes() : 0) +
           (weight_gradient_ ? weight_gradient_->bytes() : 0);
  }

  void forward(Context& context, const ForwardArgs& args) override {
    const TensorView z = activation_.product(args);
    forward_->run(context, {.weight = args.params[0].data(), .dy = args.inputs[0].data(), .dx = {.view = z}});
    if (bias_) add_bias(context, args.params[1], z);
    activation_.forward_all(context, args);
  }

  void backward(Context& context, const BackwardArgs& args) override {
    const ConstTensorView dz = activation_.product_gradient(context, args);
    auto* const scratch = static_cast<std::byte*>(args.scratch) + activation_.scratch_bytes();
    if (const Destination& dx = args.input_gradients[0]) {
      const bool direct = !adds_ && dx.alpha == nullptr;
      const TensorView to = input_.at(direct ? dx.view.data() : scratch);
      input_gradient_->run(context, {.x = dz.data(), .weight = args.params[0].data(), .y = to.data()});
      if (!direct) copy_elements(context, to, dx);
    }
    if (args.parameter_gradients[0]) {
      weight_gradient_->run(context,
                            {.x = dz.data(), .dy = args.inputs[0].data(), .dweight = args.parameter_gradients[0]});
    }
    if (bias_ && args.parameter_gradients[1]) {
      channel_sum(context, channels_, dz.data(), args.parameter_gradients[1], scratch);
    }
  }

 private:
  void add_bias(Context& context, const ConstTensorView& bias, const TensorView& z) const {
    const bool pixels = channels_last(context.device());
    const int64_t channels = channels_.channels, columns = pixels ? channels : channels_.pixels;
    dispatch_float(z.dtype(), [&]<class T>() {
      for_each_row_column(context, z.elements() / columns, columns,
                          AddToChannels<T>{z.as<T>(), bias.as<T>(), columns, channels, pixels});
    });
  }
  // Bytes for a gradient that is added to other values, or scaled.
  size_t dx_bytes() const { return input_gradient_ ? aligned_bytes(input_.bytes()) : 0; }

  bool bias_;
  OutputActivation activation_;
  ChannelSpec channels_;  // the output's sizes
  size_t sum_bytes_ = 0;
  TensorView input_;  // the layout of the input; no data
  bool adds_ = false;
  std::unique_ptr<Convolution> forward_, input_gradient_, weight_gradient_;
};

class ConvTranspose2d final : public Layer {
 public:
  using Options = ConvTranspose2dOptions;
  static constexpr std::string_view kDoc =
      "a transposed convolution, which makes images larger: each value spreads a window over the output";
  static constexpr std::string_view kExample = "filters: 8, kernel: 4, stride: 2, padding: same";

  explicit ConvTranspose2d(const Options& options) : options_(options) {}

  LayoutUse layout_use() const override { return LayoutUse::images; }
  bool convolves() const override { return true; }
  TensorSpec build(std::span<const TensorSpec> inputs, ParamBuilder& params) override {
    require_image(inputs[0]);
    const Shape& row = inputs[0].shape;
    const int64_t groups = options_.groups, filters = options_.filters;
    require_groups(groups, row[0], filters);
    const ConvolutionSpec spec = spec_of(options_, row);
    if (spec.height.in < 1 || spec.width.in < 1) {
      throw ShapeError("the padding leaves nothing of the output", {}, "pad by less");
    }
    const Shape weight = spec.weight().shape;
    params.parameter("weight", weight,
                     glorot_uniform(row[0] / groups * weight[2] * weight[3], weight.row().elements()));
    if (options_.bias) params.parameter("bias", {filters}, Initializer::constant(0));
    return {Shape{filters, spec.height.in, spec.width.in}, params.dtype()};
  }
  std::unique_ptr<LayerPlan> plan(Context& context, const PlanArgs& args) const override {
    return std::make_unique<ConvTranspose2dPlan>(context, args, options_);
  }
  OnnxValue to_onnx(const OnnxLayer& layer) const override {
    const Shape& row = layer.input_specs[0].shape;
    const ConvolutionSpec spec = spec_of(options_, row);
    std::vector<OnnxValue> inputs = {layer.inputs[0]};
    inputs.insert(inputs.end(), layer.params.begin(), layer.params.end());
    // Pixels at the end that no window reaches.
    const auto unreached = [](int64_t in, const ConvolutionSpec::Axis& axis) {
      return axis.in - ((in - 1) * axis.stride + axis.reach() - axis.before - axis.after);
    };
    std::vector<OnnxAttribute> window = onnx_window(spec.height, spec.width);
    window.push_back({"dilations", std::vector{spec.height.dilation, spec.width.dilation}});
    window.push_back({"group", spec.groups});
    window.push_back({"output_padding", std::vector{unreached(row[1], spec.height), unreached(row[2], spec.width)}});
    const OnnxValue product = layer.graph.add("ConvTranspose", inputs, std::move(window));
    return add_activation(layer.graph, options_.activation, product);
  }

 private:
  Options options_;
};

}  // namespace
}  // namespace millrace

MILLRACE_REGISTER_LAYER(conv_transpose2d, ConvTranspose2d);
