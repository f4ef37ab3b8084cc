// group_norm: mean 0 and deviation 1 for groups of channels, each row by itself.
#include <vector>

#include "millrace/layers/catalog.h"
#include "millrace/layers/images/images.h"
#include "millrace/layers/images/window.h"
#include "millrace/layers/norms/group_plan.h"
#include "millrace/layers/onnx_layer.h"

namespace millrace {
namespace {

class GroupNorm final : public Layer {
 public:
  struct Options {
    int64_t groups = 0;
    double epsilon = 1e-5;
    void declare(OptionReader& o) {
      o.required("groups", groups, {.min = 1, .max = 1 << 20}, "parts of the channels, each normalised by itself");
      o.optional("epsilon", epsilon, {.min = 0, .above_min = true}, "added to the variance, so that it is never 0");
    }
  };
  static constexpr std::string_view kDoc =
      "mean 0 and deviation 1 for each group of channels of a row, then a trained scale and shift for each channel";
  static constexpr std::string_view kExample = "groups: 4";

  explicit GroupNorm(const Options& options) : options_(options) {}

  LayoutUse layout_use() const override { return LayoutUse::images; }
  TensorSpec build(std::span<const TensorSpec> inputs, ParamBuilder& params) override {
    require_channels(inputs[0]);
    const Shape& row = inputs[0].shape;
    if (row[0] % options_.groups != 0) {
      throw ShapeError(
          cat(count_of(options_.groups, "group"), " cannot share ", count_of(row[0], "channel"), " equally"), {},
          cat("use a divisor of ", row[0]));
    }
    params.parameter("weight", {row[0]}, Initializer::constant(1));
    params.parameter("bias", {row[0]}, Initializer::constant(0));
    return inputs[0];
  }
  std::unique_ptr<LayerPlan> plan(Context& context, const PlanArgs& args) const override {
    const Shape row = args.output.shape().row();
    return plan_group_norm(args, {.channels = row[0],
                                  .pixels = is_image(row) ? row[1] * row[2] : 1,
                                  .groups = options_.groups,
                                  .channels_last = !is_image(row) || channels_last(context.device()),
                                  .epsilon = options_.epsilon});
  }
  // A group is a channel of InstanceNormalization, which has no scale and shift for each channel of a group.
  OnnxValue to_onnx(const OnnxLayer& layer) const override {
    const auto groups = static_cast<size_t>(options_.groups);
    const std::vector<float> ones(groups, 1.0F), zeros(groups, 0.0F);
    OnnxGraph& graph = layer.graph;
    const auto each_group = [&](const std::vector<float>& values) {
      return graph.constant(ConstTensorView(values.data(), DType::f32, Shape{options_.groups}));
    };
    const OnnxValue parts =
        graph.reshape(layer.inputs[0], Shape{options_.groups, layer.output.shape.elements() / options_.groups});
    const OnnxValue normal = graph.add("InstanceNormalization", {parts, each_group(ones), each_group(zeros)},
                                       {{"epsilon", static_cast<float>(options_.epsilon)}});
    const OnnxValue whole = graph.reshape(normal, layer.output.shape);
    // (channels, 1, 1) for images, so that axes meet.
    std::vector<int64_t> sizes(static_cast<size_t>(layer.output.shape.rank()), 1);
    sizes[0] = layer.output.shape[0];
    const OnnxValue shape = graph.list(sizes);
    const auto each = [&](OnnxValue parameter) { return graph.add("Reshape", {parameter, shape}); };
    return graph.add("Add", {graph.add("Mul", {whole, each(layer.params[0])}), each(layer.params[1])});
  }

 private:
  Options options_;
};

}  // namespace
}  // namespace millrace

MILLRACE_REGISTER_LAYER(group_norm, GroupNorm);
