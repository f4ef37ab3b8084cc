// huber: a loss of numbers, square for small errors and linear for large ones.
#include "millrace/layers/catalog.h"
#include "millrace/layers/losses/elementwise_loss.h"

namespace millrace {
namespace {

// For e = prediction - label: l = e^2 / 2 where |e| <= delta, else delta (|e| - delta / 2); dl/dx = e, kept in
// [-delta, delta].
struct HuberError {
  double delta;
  template <class T>
  MILLRACE_HD LossTerm<T> operator()(T x, T y) const {
    const T error = x - y, size = error < T(0) ? -error : error, bound = static_cast<T>(delta);
    const T value = size <= bound ? T(0.5) * error * error : bound * (size - T(0.5) * bound);
    return {value, error > bound ? bound : (error < -bound ? -bound : error)};
  }
};

class Huber final : public ElementwiseLoss<HuberError> {
 public:
  struct Options {
    double delta = 1;
    void declare(OptionReader& o) {
      // As a float32, delta is not 0, and its square is finite.
      o.optional("delta", delta, {.min = 1e-30, .max = 1e18}, "the error from which the loss is linear");
    }
  };
  static constexpr std::string_view kDoc =
      "Huber loss: for e = |prediction - label|, e^2 / 2 up to delta, delta (e - delta / 2) beyond";

  explicit Huber(const Options& options) : ElementwiseLoss("huber", kFiniteLabels, {options.delta}) {}
  Predictions predictions() const override { return Predictions::numbers; }
};

}  // namespace
}  // namespace millrace

MILLRACE_REGISTER_LOSS(huber, Huber);
