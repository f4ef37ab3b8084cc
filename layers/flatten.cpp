// flatten: a row of any shape, such as an image, as a vector.
#include "millrace/layers/catalog.h"
#include "millrace/layers/onnx_layer.h"
#include "millrace/layers/simple_layer.h"

namespace millrace {
namespace {

// The values of a row keep their order, so both passes copy rows.
class Flatten final : public SimpleLayer {
 public:
  static constexpr std::string_view kDoc = "the values of a row as a vector";

  TensorSpec build(std::span<const TensorSpec> inputs, ParamBuilder&) override {
    return {Shape{inputs[0].shape.elements()}, inputs[0].dtype};
  }
  void forward(Context& context, const SimpleForward& args) const override { copy_elements(context, args.x, args.y); }
  void backward(Context& context, const SimpleBackward& args) const override {
    copy_elements(context, args.dy, args.dx);
  }
  bool backward_reads_input() const override { return false; }
  bool backward_reads_output() const override { return false; }
  OnnxValue to_onnx(const OnnxLayer& layer) const override {
    return layer.graph.reshape(layer.inputs[0], layer.output.shape);
  }
};

}  // namespace
}  // namespace millrace

MILLRACE_REGISTER_LAYER(flatten, Flatten);
