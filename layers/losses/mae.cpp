// mae: the mean absolute error, as a loss.
#include "millrace/layers/catalog.h"
#include "millrace/layers/losses/elementwise_loss.h"

namespace millrace {
namespace {

// For prediction x and label y: l = |x - y|, dl/dx = the sign of x - y, or 0 if they are equal.
struct AbsoluteError {
  template <class T>
  MILLRACE_HD LossTerm<T> operator()(T x, T y) const {
    const T error = x - y;
    // The last branch is for 0 and for NaN, which stays NaN.
    return {error < T(0) ? -error : error, error < T(0) ? T(-1) : (error > T(0) ? T(1) : error)};
  }
};

class Mae final : public ElementwiseLoss<AbsoluteError> {
 public:
  static constexpr std::string_view kDoc = "mean absolute error: |prediction - label| over rows and columns";

  Mae() : ElementwiseLoss("mae", kFiniteLabels) {}
  Predictions predictions() const override { return Predictions::numbers; }
};

}  // namespace
}  // namespace millrace

MILLRACE_REGISTER_LOSS(mae, Mae);
