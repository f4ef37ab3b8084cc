// tanh: the hyperbolic tangent of every value.
#include "millrace/layers/activations/activation_layer.h"
#include "millrace/layers/catalog.h"

namespace millrace {
namespace {

struct TanhLayer final : ActivationLayer<Activation::tanh> {
  static constexpr std::string_view kDoc = "the hyperbolic tangent of every value";
};

}  // namespace
}  // namespace millrace

MILLRACE_REGISTER_LAYER(tanh, TanhLayer);
