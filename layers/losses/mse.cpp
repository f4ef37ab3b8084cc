// mse: the mean squared error, as a loss.
#include "millrace/layers/catalog.h"
#include "millrace/layers/losses/elementwise_loss.h"

namespace millrace {
namespace {

// For prediction x and label y: l = (x - y)^2, dl/dx = 2 (x - y).
struct SquaredError {
  template <class T>
  MILLRACE_HD LossTerm<T> operator()(T x, T y) const {
    const T error = x - y;
    return {error * error, T(2) * error};
  }
};

class Mse final : public ElementwiseLoss<SquaredError> {
 public:
  static constexpr std::string_view kDoc = "mean squared error: (prediction - label)^2 over rows and columns";

  static std::optional<Spec> suit(const FoundField& label) { return plain_if(label.has(FoundField::Holds::amounts)); }

  Mse() : ElementwiseLoss("mse", kFiniteLabels) {}
  Predictions predictions() const override { return Predictions::numbers; }
};

}  // namespace
}  // namespace millrace

MILLRACE_REGISTER_LOSS(mse, Mse);
