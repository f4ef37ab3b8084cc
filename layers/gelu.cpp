// gelu: every value times the share of a standard normal below it.
#include "millrace/layers/activations/activation_layer.h"
#include "millrace/layers/catalog.h"

namespace millrace {
namespace {

struct GeluLayer final : ActivationLayer<Activation::gelu> {
  static constexpr std::string_view kDoc = "every value times the share of a standard normal below it";
};

}  // namespace
}  // namespace millrace

MILLRACE_REGISTER_LAYER(gelu, GeluLayer);
