// mse: the mean squared error, as a metric.
#include "millrace/layers/catalog.h"
#include "millrace/layers/metrics/regression.h"

namespace millrace {
namespace {

class Mse final : public MeanError<SquareOf> {
 public:
  static constexpr std::string_view kDoc = "mean squared error: (prediction - label)^2 over rows and columns";

  Mse() : MeanError("mse") {}
  int label_power() const override { return 2; }
};

}  // namespace
}  // namespace millrace

MILLRACE_REGISTER_METRIC(mse, Mse);
