// add: the sum of inputs of one shape. Each gets the whole gradient.
#include "millrace/layers/catalog.h"
#include "millrace/layers/layer.h"
#include "millrace/layers/onnx_layer.h"
#include "millrace/layers/simple_layer.h"

namespace millrace {
namespace {

struct Sum {
  template <class T>
  MILLRACE_HD T operator()(T a, T b) const {
    return a + b;
  }
};

class AddPlan final : public LayerPlan {
 public:
  bool backward_reads_inputs() const override { return false; }
  bool backward_reads_output() const override { return false; }

  void forward(Context& context, const ForwardArgs& args) override {
    zip_elements(context, args.inputs[0], args.inputs[1], args.output, Sum{});
    for (size_t i = 2; i < args.inputs.size(); ++i) {
      copy_elements(context, args.inputs[i], Destination{.view = args.output, .beta = 1});
    }
  }
  void backward(Context& context, const BackwardArgs& args) override {
    for (const Destination& dx : args.input_gradients) {
      if (dx) copy_elements(context, args.output_gradient, dx);
    }
  }
};

class Add final : public Layer {
 public:
  static constexpr std::string_view kDoc = "the sum of two or more inputs of the same shape";

  LayoutUse layout_use() const override { return LayoutUse::same; }
  int min_inputs() const override { return 2; }
  int max_inputs() const override { return -1; }

  TensorSpec build(std::span<const TensorSpec> inputs, ParamBuilder&) override {
    require_one_shape(inputs);
    return inputs[0];
  }
  std::unique_ptr<LayerPlan> plan(Context&, const PlanArgs&) const override { return std::make_unique<AddPlan>(); }
  OnnxValue to_onnx(const OnnxLayer& layer) const override {
    OnnxValue sum = layer.inputs[0];
    for (const OnnxValue input : layer.inputs.subspan(1)) sum = layer.graph.add("Add", {sum, input});
    return sum;
  }
};

}  // namespace
}  // namespace millrace

MILLRACE_REGISTER_LAYER(add, Add);
