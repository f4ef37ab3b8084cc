#include "millrace/layers/activations/activation.h"
#include "millrace/layers/catalog.h"
#include "millrace/layers/simple_layer.h"

namespace millrace {
namespace {

class TanhLayer final : public SimpleLayer {
 public:
  struct Options {
    void declare(OptionReader&) {}
  };
  static constexpr std::string_view kDoc = "the hyperbolic tangent of every value";

  explicit TanhLayer(const Options&) {}

  LayoutUse layout_use() const override { return LayoutUse::same; }
  void forward(Context& context, const SimpleForward& args) const override {
    activate(context, Activation::tanh, args.x, args.y);
  }
  void backward(Context& context, const SimpleBackward& args) const override {
    activation_gradient(context, Activation::tanh, args.y, args.dy, args.dx);
  }
  bool backward_reads_input() const override { return false; }
};

}  // namespace
}  // namespace millrace

MILLRACE_REGISTER_LAYER(tanh, TanhLayer);
