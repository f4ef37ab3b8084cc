#include <cstring>
#include <limits>

#include "millrace/core/kernels/reduce.h"
#include "millrace/core/parallel.h"
#include "millrace/layers/catalog.h"
#include "millrace/layers/dispatch.h"
#include "millrace/layers/shape_checks.h"

namespace millrace {
namespace {

// correct[row] = 1 where the logit's sign is that of the label.
template <class T, class Label>
struct BinaryHit {
  const T* logit;
  const Label* label;
  int64_t logit_stride, label_stride;
  double* correct;
  MILLRACE_HD void operator()(int64_t row) const {
    const bool predicted = logit[row * logit_stride] > T(0);
    const bool wanted = static_cast<double>(label[row * label_stride]) > 0.5;
    correct[row] = predicted == wanted ? 1.0 : 0.0;
  }
};

// correct[row] = 1 where the largest logit, the first of equal ones, is the label's.
template <class T, class Label>
struct ClassHit {
  const T* logits;
  const Label* label;
  int64_t logit_stride, label_stride, classes;
  double* correct;
  MILLRACE_HD void operator()(int64_t row) const {
    const T* const x = logits + row * logit_stride;
    int64_t best = 0;
    for (int64_t i = 1; i < classes; ++i) {
      if (x[i] > x[best]) best = i;
    }
    correct[row] = static_cast<int64_t>(label[row * label_stride]) == best ? 1.0 : 0.0;
  }
};

// The partial is the number of rows that are right, as a double: exact up to 2^53.
class AccuracyPlan final : public MetricPlan {
 public:
  explicit AccuracyPlan(int64_t batch) : batch_(batch) {}

  size_t partial_bytes() const override { return sizeof(double); }
  size_t scratch_bytes() const override { return hit_bytes() + sum_scratch(batch_); }

  void run(Context& context, const MetricArgs& args) override {
    if (args.label.dtype() == DType::i32) {
      mark_hits<int32_t>(context, args);
    } else if (args.label.dtype() == DType::i64) {
      mark_hits<int64_t>(context, args);
    } else {
      mark_hits<float>(context, args);
    }
    const ConstTensorView hits(args.scratch, DType::f64, Shape{batch_});
    sum(context, hits, args.partial, 1.0, static_cast<std::byte*>(args.scratch) + hit_bytes());
  }

 private:
  size_t hit_bytes() const { return aligned_bytes(static_cast<size_t>(batch_) * sizeof(double)); }

  template <class Label>
  void mark_hits(Context& context, const MetricArgs& args) const {
    const ConstTensorView &x = args.prediction, &label = args.label;
    auto* const hits = static_cast<double*>(args.scratch);
    dispatch_float(x.dtype(), [&]<class T>() {
      if (x.columns() == 1) {
        for_each_index(context, batch_,
                       BinaryHit<T, Label>{x.as<T>(), label.as<Label>(), x.stride(), label.stride(), hits});
      } else {
        for_each_index(context, batch_,
                       ClassHit<T, Label>{x.as<T>(), label.as<Label>(), x.stride(), label.stride(), x.columns(), hits});
      }
    });
  }

  int64_t batch_;
};

// Counts whole rows, so that windows of any length are exact.
class AccuracyAccumulator final : public MetricAccumulator {
 public:
  void add(std::span<const std::byte> partial, int64_t rows) override {
    double correct = 0;
    std::memcpy(&correct, partial.data(), sizeof correct);
    correct_ += static_cast<int64_t>(correct);
    rows_ += rows;
  }
  double value() const override {
    if (rows_ == 0) return std::numeric_limits<double>::quiet_NaN();
    return static_cast<double>(correct_) / static_cast<double>(rows_);
  }
  void reset() override { correct_ = rows_ = 0; }

 private:
  int64_t correct_ = 0, rows_ = 0;
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
    const bool one_label = label.shape.elements() == 1 && label.dtype != DType::u8 && label.dtype != DType::f64;
    const bool is_class = label.dtype == DType::i32 || label.dtype == DType::i64;
    if (one_label && (prediction.shape[0] == 1 || is_class)) return;
    throw ShapeError(cat("accuracy does not fit the prediction ", prediction.text(), " and the label ", label.text()),
                     {}, "it takes one logit and one label a row, or several logits and one class index");
  }
  std::unique_ptr<MetricPlan> plan(Context&, const TensorView& prediction, const TensorView&) const override {
    return std::make_unique<AccuracyPlan>(prediction.rows());
  }
  std::unique_ptr<MetricAccumulator> accumulator() const override { return std::make_unique<AccuracyAccumulator>(); }
};

}  // namespace
}  // namespace millrace

MILLRACE_REGISTER_METRIC(accuracy, Accuracy);
