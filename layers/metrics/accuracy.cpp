#include <cstring>
#include <limits>

#include "millrace/core/kernels/reduce.h"
#include "millrace/core/parallel.h"
#include "millrace/layers/catalog.h"
#include "millrace/layers/dispatch.h"
#include "millrace/layers/shape_checks.h"

namespace millrace {
namespace {

// What a row adds when it is right: its weight.
struct RowWeight {
  const float* weight;  // null: 1 for each row
  int64_t stride;
  MILLRACE_HD double operator()(int64_t row) const {
    return weight != nullptr ? static_cast<double>(weight[row * stride]) : 1.0;
  }
};

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
    const bool wanted = static_cast<double>(label[row * label_stride]) > 0.5;
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

struct GatherWeight {
  RowWeight weight;
  double* out;
  MILLRACE_HD void operator()(int64_t row) const { out[row] = weight(row); }
};

bool reads(DType label) { return label == DType::f32 || label == DType::i32 || label == DType::i64; }

// The partial is the weight of the rows that are right and, where rows are weighted, that of all: doubles. Without
// weights they count whole rows, so that windows of any length are exact.
class AccuracyPlan final : public MetricPlan {
 public:
  explicit AccuracyPlan(const MetricPlanArgs& args)
      : batch_(args.prediction.rows()), label_(args.label.dtype()), weighted_(args.weighted) {
    if (!reads(label_)) {
      throw ShapeError(cat("accuracy reads float32, int32 or int64 labels, got ", args.label.spec().text()));
    }
  }

  size_t partial_bytes() const override { return (weighted_ ? 2 : 1) * sizeof(double); }
  size_t scratch_bytes() const override { return value_bytes() + sum_scratch(batch_); }

  void run(Context& context, const MetricArgs& args) override {
    switch (label_) {
      case DType::i32: mark_hits<int32_t>(context, args); break;
      case DType::i64: mark_hits<int64_t>(context, args); break;
      default: mark_hits<float>(context, args);
    }
    auto* const partial = static_cast<double*>(args.partial);
    add_up(context, args, partial);
    if (!weighted_) return;
    for_each_index(context, batch_, GatherWeight{weight_of(args), static_cast<double*>(args.scratch)});
    add_up(context, args, partial + 1);
  }

 private:
  size_t value_bytes() const { return aligned_bytes(static_cast<size_t>(batch_) * sizeof(double)); }
  RowWeight weight_of(const MetricArgs& args) const {
    return {weighted_ ? args.weight.as<float>() : nullptr, args.weight.stride()};
  }

  template <class Label>
  void mark_hits(Context& context, const MetricArgs& args) const {
    const ConstTensorView &x = args.prediction, &label = args.label;
    auto* const hits = static_cast<double*>(args.scratch);
    const RowWeight weight = weight_of(args);
    dispatch_float(x.dtype(), [&]<class T>() {
      if (x.columns() == 1) {
        for_each_index(context, batch_,
                       BinaryHit<T, Label>{x.as<T>(), label.as<Label>(), x.stride(), label.stride(), weight, hits});
      } else {
        for_each_index(
            context, batch_,
            ClassHit<T, Label>{x.as<T>(), label.as<Label>(), x.stride(), label.stride(), x.columns(), weight, hits});
      }
    });
  }

  // *result = the sum of the scratch's values, one a row.
  void add_up(Context& context, const MetricArgs& args, double* result) const {
    const ConstTensorView values(args.scratch, DType::f64, Shape{batch_});
    sum(context, values, result, 1.0, static_cast<std::byte*>(args.scratch) + value_bytes());
  }

  int64_t batch_;
  DType label_;
  bool weighted_;
};

class AccuracyAccumulator final : public MetricAccumulator {
 public:
  void add(std::span<const std::byte> partial, int64_t rows) override {
    double sums[2] = {0, static_cast<double>(rows)};
    std::memcpy(sums, partial.data(), partial.size());
    correct_ += sums[0];
    weight_ += sums[1];
  }
  double value() const override { return weight_ > 0 ? correct_ / weight_ : std::numeric_limits<double>::quiet_NaN(); }
  void reset() override { correct_ = weight_ = 0; }

 private:
  double correct_ = 0, weight_ = 0;
};

class Accuracy final : public Metric {
 public:
  struct Options {
    void declare(OptionReader&) {}
  };
  static constexpr std::string_view kDoc = "the share of rows whose sign (one logit) or largest logit is the label's";

  explicit Accuracy(const Options&) {}

  void check(const TensorSpec& prediction, const TensorSpec& label) const override {
    require_float(prediction);
    require_vector(prediction);
    const bool one_label = label.shape.elements() == 1 && reads(label.dtype);
    const bool is_class = label.dtype == DType::i32 || label.dtype == DType::i64;
    if (one_label && (prediction.shape[0] == 1 || is_class)) return;
    throw ShapeError(cat("accuracy does not fit the prediction ", prediction.text(), " and the label ", label.text()),
                     {}, "it takes one logit and one label a row, or several logits and one class index");
  }
  std::unique_ptr<MetricPlan> plan(Context&, const MetricPlanArgs& args) const override {
    return std::make_unique<AccuracyPlan>(args);
  }
  std::unique_ptr<MetricAccumulator> accumulator() const override { return std::make_unique<AccuracyAccumulator>(); }
};

}  // namespace
}  // namespace millrace

MILLRACE_REGISTER_METRIC(accuracy, Accuracy);
