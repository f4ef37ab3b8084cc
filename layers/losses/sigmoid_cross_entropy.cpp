// sigmoid_cross_entropy: the loss of yes-or-no questions, each answered by a logit.
#include "millrace/core/math.h"
#include "millrace/layers/catalog.h"
#include "millrace/layers/losses/elementwise_loss.h"

namespace millrace {
namespace {

// For logit z and label y: l = max(z, 0) - z y + log(1 + exp(-|z|)), dl/dz = sigmoid(z) - y.
struct CrossEntropy {
  template <class T>
  MILLRACE_HD LossTerm<T> operator()(T z, T y) const {
    const T small = math::exp(z < T(0) ? z : -z);
    const T positive = z > T(0) ? z : T(0);
    const T sigmoid = (z < T(0) ? small : T(1)) / (T(1) + small);
    return {positive - z * y + math::log1p(small), sigmoid - y};
  }
};

// Labels are probabilities, usually 0 or 1.
class SigmoidCrossEntropy final : public ElementwiseLoss<CrossEntropy> {
 public:
  static constexpr std::string_view kDoc = "cross-entropy of the sigmoid of each logit with a label between 0 and 1";

  static std::optional<Spec> suit(const FoundField& label) {
    return plain_if(label.has(FoundField::Holds::codes) && label.classes == 2);
  }

  SigmoidCrossEntropy()
      : ElementwiseLoss("sigmoid_cross_entropy", {.min = 0, .max = 1, .hint = "0 stands for no and 1 for yes"}) {}
  Predictions predictions() const override { return Predictions::sigmoid_logits; }
};

}  // namespace
}  // namespace millrace

MILLRACE_REGISTER_LOSS(sigmoid_cross_entropy, SigmoidCrossEntropy);
