// precision: the share of rows that belong to a class, among the rows that are said to.
#include "millrace/layers/catalog.h"
#include "millrace/layers/metrics/shared/class_counts.h"

namespace millrace {
namespace {

class PrecisionMetric final : public ClassCountsMetric {
 public:
  static constexpr std::string_view kDoc =
      "the share of right rows among those predicted as a class: as yes (above 0) with one logit, else the mean over "
      "the classes that occur in labels or predictions; 0 / 0 is 0";

  PrecisionMetric()
      : ClassCountsMetric("precision", [](const ClassCounts& c) { return quotient(c.right, c.predicted); }) {}
};

}  // namespace
}  // namespace millrace

MILLRACE_REGISTER_METRIC(precision, PrecisionMetric);
