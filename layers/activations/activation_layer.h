// ActivationLayer: a layer that is an activation and nothing else.
//
//   struct TanhLayer final : ActivationLayer<Activation::tanh> {
//     static constexpr std::string_view kDoc = "the hyperbolic tangent of every value";
//   };
#pragma once

#include "millrace/layers/activations/activation.h"
#include "millrace/layers/onnx_layer.h"
#include "millrace/layers/simple_layer.h"

namespace millrace {

template <Activation kActivation>
class ActivationLayer : public SimpleLayer {
 public:
  LayoutUse layout_use() const final { return LayoutUse::same; }
  void forward(Context& context, const SimpleForward& args) const final {
    activate(context, kActivation, args.x, args.y);
  }
  void backward(Context& context, const SimpleBackward& args) const final {
    activation_gradient(context, kActivation, backward_reads_output() ? args.y : args.x, args.dy, args.dx);
  }
  OnnxValue to_onnx(const OnnxLayer& layer) const final {
    return add_activation(layer.graph, kActivation, layer.inputs[0]);
  }
  bool backward_reads_input() const final { return gradient_reads(kActivation) == GradientReads::z; }
  bool backward_reads_output() const final { return gradient_reads(kActivation) == GradientReads::y; }
};

}  // namespace millrace
