#include "millrace/layers/catalog.h"
#include "millrace/layers/metrics/regression.h"

namespace millrace {
namespace {

class Mae final : public MeanError<SizeOf> {
 public:
  struct Options {
    void declare(OptionReader&) {}
  };
  static constexpr std::string_view kDoc = "mean absolute error: |prediction - label| over rows and columns";

  explicit Mae(const Options&) : MeanError("mae") {}
  int label_power() const override { return 1; }
};

}  // namespace
}  // namespace millrace

MILLRACE_REGISTER_METRIC(mae, Mae);
