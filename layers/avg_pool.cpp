// avg_pool: the mean of each window of an image.
#include "millrace/layers/catalog.h"
#include "millrace/layers/images/average_plan.h"

namespace millrace {
namespace {

class AvgPool final : public Layer {
 public:
  using Options = PoolOptions;
  static constexpr std::string_view kDoc = "the mean of each window of an image, channel by channel";
  static constexpr std::string_view kExample = "size: 2";

  explicit AvgPool(const Options& options) : window_(options.window()) {}

  LayoutUse layout_use() const override { return LayoutUse::images; }
  TensorSpec build(std::span<const TensorSpec> inputs, ParamBuilder&) override { return pooled(window_, inputs[0]); }
  std::unique_ptr<LayerPlan> plan(Context&, const PlanArgs& args) const override {
    return std::make_unique<AveragePlan>(window_, args);
  }

 private:
  Window window_;
};

}  // namespace
}  // namespace millrace

MILLRACE_REGISTER_LAYER(avg_pool, AvgPool);
