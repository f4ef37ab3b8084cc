// reshape: the values of a row in another shape.
#include <optional>

#include "millrace/core/row_sizes.h"
#include "millrace/layers/catalog.h"
#include "millrace/layers/onnx_layer.h"
#include "millrace/layers/simple_layer.h"

namespace millrace {
namespace {

struct ReshapeOptions {
  RowSizes shape;
  void declare(OptionReader& o) {
    o.required("shape", shape,
               "sizes of a row's axes, without the batch; one may be -1, which takes what the others leave");
    o.stands_alone("shape");
  }
};

// The values of a row keep their order, so both passes copy rows.
class Reshape final : public SimpleLayer {
 public:
  using Options = ReshapeOptions;
  static constexpr std::string_view kDoc = "the values of a row in another shape, their order kept";
  static constexpr std::string_view kExample = "shape: [1, 28, 28]";

  explicit Reshape(const Options& options) : shape_(options.shape) {}

  TensorSpec build(std::span<const TensorSpec> inputs, ParamBuilder&) override {
    if (const std::optional<Shape> shape = shape_.shape_of(inputs[0].shape.elements()))
      return {*shape, inputs[0].dtype};
    throw ShapeError(cat("expected a row of ", shape_.wanted("value"), " for the shape ", shape_.text(), ", got ",
                         inputs[0].text()));
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

 private:
  RowSizes shape_;
};

}  // namespace
}  // namespace millrace

MILLRACE_REGISTER_LAYER(reshape, Reshape);
