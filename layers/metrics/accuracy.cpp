#include "millrace/layers/catalog.h"
#include "millrace/layers/dispatch.h"
#include "millrace/layers/metrics/labels.h"
#include "millrace/layers/metrics/row_mean.h"

namespace millrace {
namespace {

// A row is right where the logit's sign is that of the label. NaN has none.
template <class T, class Label>
struct BinaryHit {
  const T* logit;
  const Label* label;
  int64_t logit_stride, label_stride;
  RowWeight weight;
  double* correct;
  MILLRACE_HD void operator()(int64_t row) const {
    const T z = logit[row * logit_stride];
    const bool wanted = says_yes(label[row * label_stride]);
    const bool right = wanted ? z > T(0) : z <= T(0);
    correct[row] = right ? weight(row) : 0.0;
  }
};

// A row is right where the largest logit, the first of equal ones, is the label's. Next to NaN none is the largest.
template <class T, class Label>
struct ClassHit {
  const T* logits;
  const Label* label;
  int64_t logit_stride, label_stride, classes;
  RowWeight weight;
  double* correct;
  MILLRACE_HD void operator()(int64_t row) const {
    const T* const x = logits + row * logit_stride;
    const auto wanted = static_cast<int64_t>(label[row * label_stride]);
    bool right = wanted >= 0 && wanted < classes;
    const T best = right ? x[wanted] : T(0);
    for (int64_t i = 0; i < classes; ++i) right = right && (i < wanted ? x[i] < best : x[i] <= best);
    correct[row] = right ? weight(row) : 0.0;
  }
};

class AccuracyPlan final : public RowMeanPlan {
 public:
  explicit AccuracyPlan(const MetricPlanArgs& args) : RowMeanPlan(args) {
    require_label_dtype("accuracy", args.label.spec());
  }

 private:
  void write(Context& context, const MetricArgs& args, const RowWeight& weight, double* hits) const override {
    const ConstTensorView &x = args.prediction, &label = args.label;
    dispatch_float(x.dtype(), [&]<class T>() {
      dispatch_label(label.dtype(), [&]<class Label>() {
        if (x.columns() == 1) {
          for_each_index(context, batch(),
                         BinaryHit<T, Label>{x.as<T>(), label.as<Label>(), x.stride(), label.stride(), weight, hits});
        } else {
          for_each_index(
              context, batch(),
              ClassHit<T, Label>{x.as<T>(), label.as<Label>(), x.stride(), label.stride(), x.columns(), weight, hits});
        }
      });
    });
  }
};

class Accuracy final : public Metric {
 public:
  struct Options {
    void declare(OptionReader&) {}
  };
  static constexpr std::string_view kDoc = "the share of rows whose sign (one logit) or largest logit is the label's";

  explicit Accuracy(const Options&) {}

  void check(const TensorSpec& prediction, const TensorSpec& label) const override {
    check_logits("accuracy", prediction, label);
  }
  std::unique_ptr<MetricPlan> plan(Context&, const MetricPlanArgs& args) const override {
    return std::make_unique<AccuracyPlan>(args);
  }
  std::unique_ptr<MetricAccumulator> accumulator() const override { return std::make_unique<RowMeanAccumulator>(); }
  bool less_is_better() const override { return false; }
};

}  // namespace
}  // namespace millrace

MILLRACE_REGISTER_METRIC(accuracy, Accuracy);
