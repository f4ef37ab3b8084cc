#include "millrace/layers/catalog.h"
#include "millrace/layers/metrics/shared/class_counts.h"

namespace millrace {
namespace {

class Recall final : public ClassCountsMetric {
 public:
  struct Options {
    void declare(OptionReader&) {}
  };
  static constexpr std::string_view kDoc =
      "the share of right rows among those labelled as a class: as yes with one logit, else the mean over the classes "
      "that occur";

  explicit Recall(const Options&) : ClassCountsMetric("recall", score) {}

 private:
  static double score(const ClassCounts& c) { return quotient(c.right, c.labelled); }
};

}  // namespace
}  // namespace millrace

MILLRACE_REGISTER_METRIC(recall, Recall);
