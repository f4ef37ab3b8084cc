#include "millrace/layers/activations/activation.h"
#include "millrace/layers/catalog.h"
#include "millrace/layers/simple_layer.h"

namespace millrace {
namespace {

class GeluLayer final : public SimpleLayer {
 public:
  struct Options {
    void declare(OptionReader&) {}
  };
  static constexpr std::string_view kDoc = "every value times the share of a standard normal below it";

  explicit GeluLayer(const Options&) {}

  LayoutUse layout_use() const override { return LayoutUse::same; }
  void forward(Context& context, const SimpleForward& args) const override {
    activate(context, Activation::gelu, args.x, args.y);
  }
  void backward(Context& context, const SimpleBackward& args) const override {
    activation_gradient(context, Activation::gelu, args.x, args.dy, args.dx);
  }
  bool backward_reads_output() const override { return false; }
};

}  // namespace
}  // namespace millrace

MILLRACE_REGISTER_LAYER(gelu, GeluLayer);
