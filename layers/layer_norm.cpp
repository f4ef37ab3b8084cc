// layer_norm: mean 0 and deviation 1 along the last axis, each row by itself.
#include "millrace/layers/catalog.h"
#include "millrace/layers/layer.h"
#include "millrace/layers/norms/group_plan.h"
#include "millrace/layers/onnx_layer.h"

namespace millrace {
namespace {

class LayerNorm final : public Layer {
 public:
  struct Options {
    double epsilon = 1e-5;
    void declare(OptionReader& o) {
      o.optional("epsilon", epsilon, {.min = 0, .above_min = true}, "added to the variance, so that it is never 0");
    }
  };
  static constexpr std::string_view kDoc =
      "mean 0 and deviation 1 for the values along the last axis, then a trained scale and shift for each";

  explicit LayerNorm(const Options& options) : epsilon_(options.epsilon) {}

  TensorSpec build(std::span<const TensorSpec> inputs, ParamBuilder& params) override {
    require_last_axis(inputs[0]);
    const int64_t length = inputs[0].shape[inputs[0].shape.rank() - 1];
    params.parameter("weight", {length}, Initializer::constant(1));
    params.parameter("bias", {length}, Initializer::constant(0));
    return inputs[0];
  }
  std::unique_ptr<LayerPlan> plan(Context&, const PlanArgs& args) const override {
    const Shape& batch = args.output.shape();
    const int64_t length = batch[batch.rank() - 1];
    return plan_group_norm(args, {.items = args.output.columns() / length, .channels = length, .epsilon = epsilon_});
  }
  OnnxValue to_onnx(const OnnxLayer& layer) const override {
    return layer.graph.add("LayerNormalization", {layer.inputs[0], layer.params[0], layer.params[1]},
                           {{"axis", int64_t{-1}}, {"epsilon", static_cast<float>(epsilon_)}});
  }

 private:
  double epsilon_;
};

}  // namespace
}  // namespace millrace

MILLRACE_REGISTER_LAYER(layer_norm, LayerNorm);
