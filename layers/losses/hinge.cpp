// hinge: a loss of two classes that asks for a margin.
#include "millrace/layers/catalog.h"
#include "millrace/layers/losses/elementwise_loss.h"

namespace millrace {
namespace {

// For logit z and label y of 0 or 1, t = 2 y - 1: l = max(0, 1 - t z); dl/dz = -t where l > 0, else 0.
struct HingeError {
  template <class T>
  MILLRACE_HD LossTerm<T> operator()(T z, T y) const {
    const T side = T(2) * y - T(1), missing = T(1) - side * z;
    // The comparisons are written so that a NaN stays a NaN.
    return {missing <= T(0) ? T(0) : missing, missing > T(0) ? -side : (missing <= T(0) ? T(0) : missing)};
  }
};

class Hinge final : public ElementwiseLoss<HingeError, int32_t> {
 public:
  static constexpr std::string_view kDoc =
      "hinge loss of each logit with a label of 0 or 1, which stand for -1 and +1: max(0, 1 - label * logit)";

  Hinge()
      : ElementwiseLoss("hinge", {.min = 0, .max = 1, .hint = "0 stands for no and 1 for yes; hinge turns 0 into -1"}) {
  }
  Predictions predictions() const override { return Predictions::logits; }
};

}  // namespace
}  // namespace millrace

MILLRACE_REGISTER_LOSS(hinge, Hinge);
