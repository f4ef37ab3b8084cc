// relu: max(x, 0) of every value. A NaN stays one.
#include "millrace/layers/activations/activation_layer.h"
#include "millrace/layers/catalog.h"

namespace millrace {
namespace {

struct ReluLayer final : ActivationLayer<Activation::relu> {
  static constexpr std::string_view kDoc = "rectified linear unit: max(x, 0) of every value";
};

}  // namespace
}  // namespace millrace

MILLRACE_REGISTER_LAYER(relu, ReluLayer);
