// rmse: the root of the mean squared error.
#include <cmath>

#include "millrace/layers/catalog.h"
#include "millrace/layers/metrics/regression.h"

namespace millrace {
namespace {

class RootAccumulator final : public RowMeanAccumulator {
 public:
  double value() const override { return std::sqrt(RowMeanAccumulator::value()); }
};

class Rmse final : public MeanError<SquareOf> {
 public:
  static constexpr std::string_view kDoc = "root of the mean squared error over all rows and columns";

  Rmse() : MeanError("rmse") {}
  int label_power() const override { return 1; }
  std::unique_ptr<MetricAccumulator> accumulator() const override { return std::make_unique<RootAccumulator>(); }
};

}  // namespace
}  // namespace millrace

MILLRACE_REGISTER_METRIC(rmse, Rmse);
