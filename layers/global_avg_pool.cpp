// global_avg_pool: avg_pool with a window as large as the image.
#include "millrace/layers/catalog.h"
#include "millrace/layers/images/pool.h"
#include "millrace/layers/onnx_layer.h"

namespace millrace {
namespace {

class GlobalAvgPool final : public Layer {
 public:
  static constexpr std::string_view kDoc =
      "the mean of each channel of an image: a vector with a value for each channel";

  LayoutUse layout_use() const override { return LayoutUse::images; }
  TensorSpec build(std::span<const TensorSpec> inputs, ParamBuilder&) override {
    require_image(inputs[0]);
    return {Shape{inputs[0].shape[0]}, inputs[0].dtype};
  }
  std::unique_ptr<LayerPlan> plan(Context&, const PlanArgs& args) const override {
    const Shape& batch = args.inputs[0].shape();
    return std::make_unique<PoolPlan>(Window{.kernel = {batch[2], batch[3]}}, false, args);
  }
  OnnxValue to_onnx(const OnnxLayer& layer) const override {
    return layer.graph.reshape(layer.graph.add("GlobalAveragePool", {layer.inputs[0]}), layer.output.shape);
  }
};

}  // namespace
}  // namespace millrace

MILLRACE_REGISTER_LAYER(global_avg_pool, GlobalAvgPool);
