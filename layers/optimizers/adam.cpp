// adam: AdamOptimizer with weight decay as a part of the gradient.
#include "millrace/layers/catalog.h"
#include "millrace/layers/optimizers/shared/adam_optimizer.h"

namespace millrace {
namespace {

class Adam final : public AdamOptimizer {
 public:
  using Options = AdamOptions;
  static constexpr std::string_view kDoc =
      "Adam: running means of gradients and of their squares, corrected for their start at 0; weight decay is a part "
      "of the gradient";

  explicit Adam(const Options& options) : AdamOptimizer(options, WeightDecay::coupled) {}
};

}  // namespace
}  // namespace millrace

MILLRACE_REGISTER_OPTIMIZER(adam, Adam);
