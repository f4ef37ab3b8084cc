// Shared by the pooling layers: options, sizes and plan.
#pragma once

#include <optional>

#include "millrace/core/kernels/images/pooling.h"
#include "millrace/layers/images/onnx_window.h"
#include "millrace/layers/images/window.h"
#include "millrace/layers/layer.h"
#include "millrace/layers/onnx_layer.h"

namespace millrace {

struct PoolOptions {
  Pixels size;
  std::optional<Pixels> stride;
  Padding padding;

  void declare(OptionReader& o) {
    o.required("size", size, "size of the windows");
    o.stands_alone("size");
    o.optional("stride", stride, "pixels from one window to the next; absent: the windows' size");
    o.optional("padding", padding,
               "pixels around the image, which do not count: valid adds none, same adds as many as make the output "
               "size / stride "
               "long, rounded up; an odd one comes after the image");
  }

  Window window() const {
    return {.kernel = size, .stride = stride.value_or(size), .dilation = {}, .padding = padding};
  }
};

inline PoolingSpec pooling_spec(const Window& window, const TensorView& batch) {
  const Shape& shape = batch.shape();
  return {.batch = shape[0],
          .channels = shape[1],
          .height = window.over_height(shape[2]),
          .width = window.over_width(shape[3]),
          .dtype = batch.dtype()};
}

// The spec of an output row for this input row. Throws ShapeError.
inline TensorSpec pooled(const Window& window, const TensorSpec& row) {
  require_image(row);
  require_fit(window, row);
  const ConvolutionSpec::Axis height = window.over_height(row.shape[1]), width = window.over_width(row.shape[2]);
  if (height.before >= height.kernel || width.before >= width.kernel) {
    throw ShapeError("a window would lie only in the padding", {}, "pad by less than the size of the windows");
  }
  return {Shape{row.shape[0], height.out(), width.out()}, row.dtype};
}

// Forward keeps which value each window took, if backward needs that. So neither x nor y need be kept.
class PoolPlan final : public LayerPlan {
 public:
  // `largest`: takes the largest value of each window, else their mean.
  PoolPlan(const Window& window, bool largest, const PlanArgs& args)
      : spec_(pooling_spec(window, args.inputs[0])), largest_(largest), keeps_(largest && args.mode == Mode::train) {}

  size_t saved_bytes() const override {
    return keeps_ ? static_cast<size_t>(spec_.output().shape.elements()) * sizeof(int32_t) : 0;
  }
  bool backward_reads_inputs() const override { return false; }
  bool backward_reads_output() const override { return false; }

  void forward(Context& context, const ForwardArgs& args) override {
    if (largest_) {
      max_pool(context, spec_, args.inputs[0], args.output, keeps_ ? static_cast<int32_t*>(args.saved) : nullptr);
    } else {
      average_pool(context, spec_, args.inputs[0], args.output);
    }
  }
  void backward(Context& context, const BackwardArgs& args) override {
    if (!args.input_gradients[0]) return;
    pool_gradient(context, spec_, largest_ ? static_cast<const int32_t*>(args.saved) : nullptr, args.output_gradient,
                  args.input_gradients[0]);
  }

 private:
  PoolingSpec spec_;
  bool largest_, keeps_;
};

// max_pool and avg_pool.
class PoolLayer : public Layer {
 public:
  using Options = PoolOptions;
  static constexpr std::string_view kExample = "size: 2";

  LayoutUse layout_use() const final { return LayoutUse::images; }
  TensorSpec build(std::span<const TensorSpec> inputs, ParamBuilder&) final { return pooled(window_, inputs[0]); }
  std::unique_ptr<LayerPlan> plan(Context&, const PlanArgs& args) const final {
    return std::make_unique<PoolPlan>(window_, largest_, args);
  }
  OnnxValue to_onnx(const OnnxLayer& layer) const final {
    const Shape& row = layer.input_specs[0].shape;
    return layer.graph.add(largest_ ? "MaxPool" : "AveragePool", {layer.inputs[0]},
                           onnx_window(window_.over_height(row[1]), window_.over_width(row[2])));
  }

 protected:
  PoolLayer(const Options& options, bool largest) : window_(options.window()), largest_(largest) {}

 private:
  Window window_;
  bool largest_;
};

}  // namespace millrace
