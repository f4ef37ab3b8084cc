// sigmoid: 1 / (1 + exp(-x)) of every value.
#include "millrace/layers/activations/activation_layer.h"
#include "millrace/layers/catalog.h"

namespace millrace {
namespace {

struct SigmoidLayer final : ActivationLayer<Activation::sigmoid> {
  static constexpr std::string_view kDoc = "logistic function: 1 / (1 + exp(-x)) of every value";
};

}  // namespace
}  // namespace millrace

MILLRACE_REGISTER_LAYER(sigmoid, SigmoidLayer);
