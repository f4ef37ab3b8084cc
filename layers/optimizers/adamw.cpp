// adamw: AdamOptimizer with weight decay on the parameter itself.
#include "millrace/layers/catalog.h"
#include "millrace/layers/optimizers/shared/adam_optimizer.h"

namespace millrace {
namespace {

class AdamW final : public AdamOptimizer {
 public:
  struct Options : AdamOptions {
    Options() { weight_decay = 0.01; }
  };
  static constexpr std::string_view kDoc =
      "Adam with a weight decay apart from the gradient: parameter -= learning_rate * weight_decay * parameter";

  explicit AdamW(const Options& options) : AdamOptimizer(options, WeightDecay::decoupled) {}
};

}  // namespace
}  // namespace millrace

MILLRACE_REGISTER_OPTIMIZER(adamw, AdamW);
