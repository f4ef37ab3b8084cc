// accuracy: the share of rows whose class is right.
#include "millrace/layers/catalog.h"
#include "millrace/layers/metrics/labels.h"
#include "millrace/layers/metrics/row_mean.h"

namespace millrace {
namespace {

template <class T, class Label>
struct Hit {
  ClassRows<T, Label> rows;
  RowWeight weight;
  double* correct;
  MILLRACE_HD void operator()(int64_t row) const {
    const int64_t said = rows.predicted(row);
    correct[row] = said >= 0 && said == rows.labelled(row) ? weight(row) : 0.0;
  }
};

class AccuracyPlan final : public RowMeanPlan {
 public:
  explicit AccuracyPlan(const MetricPlanArgs& args) : RowMeanPlan(args) {
    require_label_dtype("accuracy", args.label.spec());
  }

 private:
  void write(Context& context, const MetricArgs& args, const RowWeight& weight, double* hits) const override {
    for_each_class_row(context, args.prediction, args.label,
                       [&]<class T, class Label>(const ClassRows<T, Label>& rows) {
                         return Hit<T, Label>{rows, weight, hits};
                       });
  }
};

class Accuracy final : public Metric {
 public:
  static constexpr std::string_view kDoc =
      "the share of rows in which the sign (one logit) or the largest logit gives the label";

  static std::optional<Spec> suit(const FoundField& label) { return plain_if(label.has(FoundField::Holds::codes)); }

  void check(const TensorSpec& prediction, const TensorSpec& label) const override {
    check_logits("accuracy", prediction, label);
  }
  std::unique_ptr<MetricPlan> plan(Context&, const MetricPlanArgs& args) const override {
    return std::make_unique<AccuracyPlan>(args);
  }
  std::unique_ptr<MetricAccumulator> accumulator() const override { return std::make_unique<RowMeanAccumulator>(); }
  bool less_is_better() const override { return false; }
  Predictions predictions() const override { return Predictions::logits; }
};

}  // namespace
}  // namespace millrace

MILLRACE_REGISTER_METRIC(accuracy, Accuracy);
