// recall: the share of rows that are said to belong to a class, among the rows that do.
#include "millrace/layers/catalog.h"
#include "millrace/layers/metrics/shared/class_counts.h"

namespace millrace {
namespace {

class Recall final : public ClassCountsMetric {
 public:
  static constexpr std::string_view kDoc =
      "the share of right rows among those labelled as a class: as yes with one logit, else the mean over the classes "
      "that occur in labels or predictions; 0 / 0 is 0";

  Recall() : ClassCountsMetric("recall", [](const ClassCounts& c) { return quotient(c.right, c.labelled); }) {}
};

}  // namespace
}  // namespace millrace

MILLRACE_REGISTER_METRIC(recall, Recall);
