// A plug-in with a loss: quantile, which is smallest if the prediction is a quantile of the label.
#include <millrace/plugin.h>

using namespace millrace;

namespace {

// For prediction x and label y: l = q (y - x) if y > x, else (1 - q) (x - y); dl/dx = -q, else 1 - q.
struct QuantileError {
  double q;
  template <class T>
  MILLRACE_HD LossTerm<T> operator()(T x, T y) const {
    const T slope = y > x ? -static_cast<T>(q) : static_cast<T>(1 - q);
    return {slope * (x - y), slope};
  }
};

class QuantileLoss final : public ElementwiseLoss<QuantileError> {
 public:
  struct Options {
    double q = 0.5;
    void declare(OptionReader& o) {
      o.optional("q", q, {.min = 0, .max = 1, .above_min = true, .below_max = true}, "the share of labels below it");
    }
  };
  static constexpr std::string_view kDoc = "quantile loss: q (label - prediction) or (1 - q) (prediction - label)";

  explicit QuantileLoss(const Options& options) : ElementwiseLoss("quantile", kFiniteLabels, {options.q}) {}

  Predictions predictions() const override { return Predictions::numbers; }
};

}  // namespace

MILLRACE_PLUGIN(catalog) { catalog.add_loss<QuantileLoss>("quantile"); }
