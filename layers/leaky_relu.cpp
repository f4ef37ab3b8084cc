// leaky_relu: x, or slope x if x is negative.
#include "millrace/layers/catalog.h"
#include "millrace/layers/onnx_layer.h"
#include "millrace/layers/simple_layer.h"

namespace millrace {
namespace {

// A NaN stays a NaN, so that a diverging model is noticed.
struct LeakyRelu {
  double slope;
  template <class T>
  MILLRACE_HD T operator()(T x) const {
    return x < T(0) ? static_cast<T>(slope) * x : x;
  }
};

// y > 0 if and only if x > 0, because the slope is not negative.
struct LeakyReluGradient {
  double slope;
  template <class T>
  MILLRACE_HD T operator()(T y, T dy) const {
    return y > T(0) ? dy : static_cast<T>(slope) * dy;
  }
};

class LeakyReluLayer final : public SimpleLayer {
 public:
  struct Options {
    double slope = 0.01;
    void declare(OptionReader& o) { o.optional("slope", slope, {.min = 0, .max = 1}, "factor of negative values"); }
  };
  static constexpr std::string_view kDoc = "leaky rectified linear unit: x where it is positive, else slope * x";

  explicit LeakyReluLayer(const Options& options) : slope_(options.slope) {}

  LayoutUse layout_use() const override { return LayoutUse::same; }
  void forward(Context& context, const SimpleForward& args) const override {
    map_elements(context, args.x, args.y, LeakyRelu{slope_});
  }
  void backward(Context& context, const SimpleBackward& args) const override {
    zip_elements(context, args.y, args.dy, args.dx, LeakyReluGradient{slope_});
  }
  bool backward_reads_input() const override { return false; }
  OnnxValue to_onnx(const OnnxLayer& layer) const override {
    return layer.graph.add("LeakyRelu", {layer.inputs[0]}, {{"alpha", static_cast<float>(slope_)}});
  }

 private:
  double slope_;
};

}  // namespace
}  // namespace millrace

MILLRACE_REGISTER_LAYER(leaky_relu, LeakyReluLayer);
