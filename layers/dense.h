// dense: a fully connected layer. It has a header so that fusions (layers/model/fusions/) know the layer and its
// options.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "millrace/core/options.h"
#include "millrace/layers/activations/activation.h"
#include "millrace/layers/layer.h"

namespace millrace {

struct DenseOptions {
  int64_t units = 0;
  Activation activation = Activation::none;
  bool bias = true;
  void declare(OptionReader& o);
};

class Dense final : public Layer {
 public:
  using Options = DenseOptions;
  static constexpr std::string_view kDoc = "a fully connected layer: activation(x weight^T + bias)";
  static constexpr std::string_view kExample = "units: 64, activation: relu";

  explicit Dense(const Options& options) : options_(options) {}

  const Options& options() const { return options_; }
  TensorSpec build(std::span<const TensorSpec> inputs, ParamBuilder& params) override;
  std::unique_ptr<LayerPlan> plan(Context& context, const PlanArgs& args) const override;
  OnnxValue to_onnx(const OnnxLayer& layer) const override;

 private:
  Options options_;
};

}  // namespace millrace
