// Shared by metrics of numbers: they compare each value of the prediction with the label's value in the same place,
// over all rows and columns. If a row that counts has an error that is NaN, the metric is NaN.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "millrace/core/tensor.h"
#include "millrace/layers/layer.h"
#include "millrace/layers/metrics/row_mean.h"

namespace millrace {

inline namespace MILLRACE_UNIT {

struct SquareOf {
  MILLRACE_HD double operator()(double error) const { return error * error; }
};
struct SizeOf {
  MILLRACE_HD double operator()(double error) const { return error < 0 ? -error : error; }
};

// f(error) for each value, times its row's weight.
template <class T, class F>
struct ErrorTerms {
  F f;
  const T* x;
  const float* y;
  int64_t x_stride, y_stride, columns;
  RowWeight weight;
  double* term;  // (B, C), contiguous
  MILLRACE_HD void operator()(int64_t row, int64_t column) const {
    const double w = weight(row);
    const double error =
        static_cast<double>(x[row * x_stride + column]) - static_cast<double>(y[row * y_stride + column]);
    // A weight of 0 is not multiplied, because 0 times NaN is NaN.
    term[row * columns + column] = w != 0 ? w * f(error) : 0;
  }
};

template <class F>
void write_errors(Context& context, const MetricArgs& args, const RowWeight& weight, double* terms) {
  const ConstTensorView &x = args.prediction, &y = args.label;
  dispatch_float(x.dtype(), [&]<class T>() {
    for_each_row_column(
        context, x.rows(), x.columns(),
        ErrorTerms<T, F>{F{}, x.as<T>(), y.as<float>(), x.stride(), y.stride(), x.columns(), weight, terms});
  });
}

inline void check_numbers(std::string_view metric, const TensorSpec& prediction, const TensorSpec& label) {
  require_float(prediction);
  if (label.dtype == DType::i32 || label.dtype == DType::i64) {
    throw ShapeError(
        cat(metric, " compares the prediction with amounts, but this loss reads labels as classes, ", label.text()), {},
        "choose a metric of classes, such as accuracy");
  }
  require_same_shape(metric, prediction, label);
  require_dtype(metric, label, DType::f32);
}

template <class F>
class MeanErrorPlan final : public RowMeanPlan {
 public:
  explicit MeanErrorPlan(const MetricPlanArgs& args) : RowMeanPlan(args, args.prediction.columns()) {}

 private:
  void write(Context& context, const MetricArgs& args, const RowWeight& weight, double* terms) const override {
    write_errors<F>(context, args, weight, terms);
  }
};

// The mean of f(error).
template <class F>
class MeanError : public Metric {
 public:
  void check(const TensorSpec& prediction, const TensorSpec& label) const final {
    check_numbers(kind_, prediction, label);
  }
  std::unique_ptr<MetricPlan> plan(Context&, const MetricPlanArgs& args) const final {
    require_dtype(kind_, args.label.spec(), DType::f32);
    return std::make_unique<MeanErrorPlan<F>>(args);
  }
  std::unique_ptr<MetricAccumulator> accumulator() const override { return std::make_unique<RowMeanAccumulator>(); }
  bool less_is_better() const final { return true; }
  Predictions predictions() const override { return Predictions::numbers; }

 protected:
  // `kind` names the metric in messages; a literal.
  explicit MeanError(std::string_view kind) : kind_(kind) {}

 private:
  std::string_view kind_;
};

}  // namespace MILLRACE_UNIT
}  // namespace millrace
