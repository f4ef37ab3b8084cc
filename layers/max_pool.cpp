// max_pool: the largest value of each window of an image.
#include "millrace/layers/catalog.h"
#include "millrace/layers/images/pool.h"

namespace millrace {
namespace {

// Backward knows which value each window took, so that neither x nor y need be kept.
class MaxPoolPlan final : public LayerPlan {
 public:
  MaxPoolPlan(const Window& window, const PlanArgs& args)
      : spec_(pooling_spec(window, args.inputs[0])), keeps_(args.mode == Mode::train) {}

  size_t saved_bytes() const override {
    return keeps_ ? static_cast<size_t>(spec_.output().shape.elements()) * sizeof(int32_t) : 0;
  }
  bool backward_reads_inputs() const override { return false; }
  bool backward_reads_output() const override { return false; }

  void forward(Context& context, const ForwardArgs& args) override {
    max_pool(context, spec_, args.inputs[0], args.output, keeps_ ? static_cast<int32_t*>(args.saved) : nullptr);
  }
  void backward(Context& context, const BackwardArgs& args) override {
    if (!args.input_gradients[0]) return;
    max_pool_gradient(context, spec_, static_cast<const int32_t*>(args.saved), args.output_gradient,
                      args.input_gradients[0]);
  }

 private:
  PoolingSpec spec_;
  bool keeps_;
};

class MaxPool final : public Layer {
 public:
  using Options = PoolOptions;
  static constexpr std::string_view kDoc = "the largest value of each window of an image, channel by channel";
  static constexpr std::string_view kExample = "size: 2";

  explicit MaxPool(const Options& options) : window_(options.window()) {}

  LayoutUse layout_use() const override { return LayoutUse::images; }
  TensorSpec build(std::span<const TensorSpec> inputs, ParamBuilder&) override { return pooled(window_, inputs[0]); }
  std::unique_ptr<LayerPlan> plan(Context&, const PlanArgs& args) const override {
    return std::make_unique<MaxPoolPlan>(window_, args);
  }

 private:
  Window window_;
};

}  // namespace
}  // namespace millrace

MILLRACE_REGISTER_LAYER(max_pool, MaxPool);
