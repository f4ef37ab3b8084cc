// elu: x, or alpha (exp(x) - 1) if x is not positive.
#include "millrace/core/math.h"
#include "millrace/layers/catalog.h"
#include "millrace/layers/onnx_layer.h"
#include "millrace/layers/simple_layer.h"

namespace millrace {
namespace {

// With t = tanh(x/2), exp(x) - 1 is 2t / (1 - t), which near 0 keeps the digits of x.
struct Elu {
  double alpha;
  template <class T>
  MILLRACE_HD T operator()(T x) const {
    const T t = math::tanh(T(0.5) * x);
    return x > T(0) ? x : static_cast<T>(alpha) * (T(2) * t / (T(1) - t));
  }
};

// dy/dx = alpha exp(x) = y + alpha if x is not positive.
struct EluGradient {
  double alpha;
  template <class T>
  MILLRACE_HD T operator()(T y, T dy) const {
    return y > T(0) ? dy : dy * (y + static_cast<T>(alpha));
  }
};

class EluLayer final : public SimpleLayer {
 public:
  struct Options {
    double alpha = 1;
    void declare(OptionReader& o) {
      o.optional("alpha", alpha, {.min = 0, .max = 1e6}, "values far below 0 become -alpha");
    }
  };
  static constexpr std::string_view kDoc = "exponential linear unit: x where it is positive, else alpha * (exp(x) - 1)";

  explicit EluLayer(const Options& options) : alpha_(options.alpha) {}

  LayoutUse layout_use() const override { return LayoutUse::same; }
  void forward(Context& context, const SimpleForward& args) const override {
    map_elements(context, args.x, args.y, Elu{alpha_});
  }
  void backward(Context& context, const SimpleBackward& args) const override {
    zip_elements(context, args.y, args.dy, args.dx, EluGradient{alpha_});
  }
  bool backward_reads_input() const override { return false; }
  OnnxValue to_onnx(const OnnxLayer& layer) const override {
    return layer.graph.add("Elu", {layer.inputs[0]}, {{"alpha", static_cast<float>(alpha_)}});
  }

 private:
  double alpha_;
};

}  // namespace
}  // namespace millrace

MILLRACE_REGISTER_LAYER(elu, EluLayer);
