// f1: the harmonic mean of precision and recall.
#include "millrace/layers/catalog.h"
#include "millrace/layers/metrics/shared/class_counts.h"

namespace millrace {
namespace {

class F1 final : public ClassCountsMetric {
 public:
  static constexpr std::string_view kDoc =
      "the harmonic mean of a class's precision and recall: of yes with one logit, else the mean over the classes that "
      "occur in labels or predictions; 0 / 0 is 0";

  F1()
      : ClassCountsMetric("f1", [](const ClassCounts& c) { return quotient(2 * c.right, c.predicted + c.labelled); }) {}
};

}  // namespace
}  // namespace millrace

MILLRACE_REGISTER_METRIC(f1, F1);
