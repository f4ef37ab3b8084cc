// mae: the mean absolute error, as a metric.
#include "millrace/layers/catalog.h"
#include "millrace/layers/metrics/regression.h"

namespace millrace {
namespace {

class Mae final : public MeanError<SizeOf> {
 public:
  static constexpr std::string_view kDoc = "mean absolute error: |prediction - label| over rows and columns";

  static std::optional<Spec> suit(const FoundField& label) { return plain_if(label.has(FoundField::Holds::amounts)); }

  Mae() : MeanError("mae") {}
  int label_power() const override { return 1; }
};

}  // namespace
}  // namespace millrace

MILLRACE_REGISTER_METRIC(mae, Mae);
