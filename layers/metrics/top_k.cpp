// top_k: the share of rows whose class is among the k likeliest.
#include "millrace/core/parallel.h"
#include "millrace/core/tensor.h"
#include "millrace/layers/catalog.h"
#include "millrace/layers/metrics/labels.h"
#include "millrace/layers/metrics/row_mean.h"

namespace millrace {
namespace {

// A row is right if fewer than k logits come before the label's logit: larger ones, and equal ones with a lower index.
// A row with a NaN is never right.
template <class T, class Label>
struct TopHit {
  ClassRows<T, Label> rows;
  int64_t k;
  RowWeight weight;
  double* correct;
  MILLRACE_HD void operator()(int64_t row) const {
    const T* const x = rows.logits + row * rows.logit_stride;
    const int64_t wanted = rows.labelled(row);
    bool ordered = wanted >= 0 && wanted < rows.columns;
    const T own = ordered ? x[wanted] : T(0);
    int64_t before = 0;
    for (int64_t i = 0; i < rows.columns; ++i) {
      before += x[i] > own || (x[i] == own && i < wanted) ? 1 : 0;
      ordered = ordered && x[i] == x[i];
    }
    correct[row] = ordered && before < k ? weight(row) : 0.0;
  }
};

class TopKPlan final : public RowMeanPlan {
 public:
  TopKPlan(const MetricPlanArgs& args, int64_t k) : RowMeanPlan(args), k_(k) {
    if (is_class_dtype(args.label.dtype())) return;
    throw ShapeError(cat("top_k reads int32 or int64 labels, got ", args.label.spec().text()));
  }

 private:
  void write(Context& context, const MetricArgs& args, const RowWeight& weight, double* hits) const override {
    for_each_class_row(context, args.prediction, args.label,
                       [&]<class T, class Label>(const ClassRows<T, Label>& rows) {
                         return TopHit<T, Label>{rows, k_, weight, hits};
                       });
  }

  int64_t k_;
};

class TopK final : public Metric {
 public:
  struct Options {
    int64_t k = 5;
    void declare(OptionReader& o) {
      o.optional("k", k, {.min = 1}, "how many of the largest logits count; less than the number of classes");
    }
  };
  static constexpr std::string_view kDoc =
      "the share of rows whose label is among the k largest logits; if logits are equal, the lower index comes first";

  explicit TopK(const Options& options) : k_(options.k) {}

  void check(const TensorSpec& prediction, const TensorSpec& label) const override {
    require_float(prediction);
    require_vector("top_k", prediction);
    if (label.shape.elements() != 1 || !is_class_dtype(label.dtype)) {
      throw ShapeError(cat("top_k does not fit the prediction ", prediction.text(), " and the label ", label.text()),
                       {}, "it takes several logits and one class index per row");
    }
    if (k_ < prediction.shape[0]) return;
    throw ShapeError(cat("top_k: every row of ", prediction.shape[0], " logits is right with k of ", k_), {},
                     "choose k below the number of classes");
  }
  std::unique_ptr<MetricPlan> plan(Context&, const MetricPlanArgs& args) const override {
    return std::make_unique<TopKPlan>(args, k_);
  }
  std::unique_ptr<MetricAccumulator> accumulator() const override { return std::make_unique<RowMeanAccumulator>(); }
  bool less_is_better() const override { return false; }
  Predictions predictions() const override { return Predictions::logits; }

 private:
  int64_t k_;
};

}  // namespace
}  // namespace millrace

MILLRACE_REGISTER_METRIC(top_k, TopK);
