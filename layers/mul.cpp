// mul: the product of inputs of one shape, value by value.
#include "millrace/layers/catalog.h"
#include "millrace/layers/layer.h"
#include "millrace/layers/onnx_layer.h"
#include "millrace/layers/simple_layer.h"

namespace millrace {
namespace {

// The gradient of an input is the output's gradient times all other inputs. These are multiplied again, because
// dividing the output by the input fails at 0.
class MulPlan final : public LayerPlan {
 public:
  explicit MulPlan(const PlanArgs& args)
      : rows_(args.output), keeps_product_(args.mode == Mode::train && args.inputs.size() > 2) {}

  size_t scratch_bytes() const override { return keeps_product_ ? rows_.bytes() : 0; }
  bool backward_reads_output() const override { return false; }

  void forward(Context& context, const ForwardArgs& args) override {
    zip_elements(context, args.inputs[0], args.inputs[1], args.output, Product{});
    for (size_t i = 2; i < args.inputs.size(); ++i) {
      zip_elements(context, args.output, args.inputs[i], args.output, Product{});
    }
  }
  void backward(Context& context, const BackwardArgs& args) override {
    for (size_t i = 0; i < args.inputs.size(); ++i) {
      if (args.input_gradients[i]) write_gradient(context, args, i);
    }
  }

 private:
  void write_gradient(Context& context, const BackwardArgs& args, size_t input) const {
    const size_t last = input + 1 == args.inputs.size() ? input - 1 : args.inputs.size() - 1;
    const TensorView scratch = rows_.at(args.scratch);
    ConstTensorView product = args.output_gradient;
    for (size_t other = 0; other < last; ++other) {
      if (other == input) continue;
      zip_elements(context, product, args.inputs[other], scratch, Product{});
      product = scratch;
    }
    zip_elements(context, product, args.inputs[last], args.input_gradients[input], Product{});
  }

  TensorView rows_;  // the layout of the output and of a product in scratch; no data
  bool keeps_product_;
};

class Mul final : public Layer {
 public:
  static constexpr std::string_view kDoc = "the product of two or more inputs of the same shape, value by value";

  LayoutUse layout_use() const override { return LayoutUse::same; }
  int min_inputs() const override { return 2; }
  int max_inputs() const override { return -1; }

  TensorSpec build(std::span<const TensorSpec> inputs, ParamBuilder&) override {
    require_one_shape(inputs);
    return inputs[0];
  }
  std::unique_ptr<LayerPlan> plan(Context&, const PlanArgs& args) const override {
    return std::make_unique<MulPlan>(args);
  }
  OnnxValue to_onnx(const OnnxLayer& layer) const override {
    OnnxValue product = layer.inputs[0];
    for (const OnnxValue input : layer.inputs.subspan(1)) product = layer.graph.add("Mul", {product, input});
    return product;
  }
};

}  // namespace
}  // namespace millrace

MILLRACE_REGISTER_LAYER(mul, Mul);
