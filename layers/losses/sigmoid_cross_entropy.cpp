#include <cstddef>

#include "millrace/core/kernels/reduce.h"
#include "millrace/core/math.h"
#include "millrace/core/parallel.h"
#include "millrace/layers/catalog.h"
#include "millrace/layers/dispatch.h"
#include "millrace/layers/shape_checks.h"

namespace millrace {
namespace {

// For logit z and label y: l = max(z, 0) - z y + log(1 + exp(-|z|)), dl/dz = sigmoid(z) - y.
// Writes each element's l, times its row's weight, and the gradient of the mean.
template <class T>
struct CrossEntropy {
  const T* z;
  const float* y;
  const float* weight;  // null: 1 for each row
  const T* weight_sum;  // null: the number of rows
  T* term;              // (B, C), contiguous
  T* gradient;          // null when nobody needs it
  int64_t z_stride, y_stride, weight_stride, gradient_stride, columns;
  T inverse_count;  // of what the mean divides by beside the weights

  MILLRACE_HD void operator()(int64_t row, int64_t column) const {
    const T logit = z[row * z_stride + column];
    const T label = static_cast<T>(y[row * y_stride + column]);
    const T small = math::exp(logit < T(0) ? logit : -logit);
    const T w = weight != nullptr ? static_cast<T>(weight[row * weight_stride]) : T(1);
    const T positive = logit > T(0) ? logit : T(0);
    const T weighted = w * (positive - logit * label + math::log1p(small));
    // Chosen, not multiplied: 0 times a logit that is not finite would show.
    const bool counts = w != T(0);
    term[row * columns + column] = counts ? weighted : T(0);
    if (gradient == nullptr) return;
    const T sigmoid = (logit < T(0) ? small : T(1)) / (T(1) + small);
    T share = w * inverse_count;
    if (weight_sum != nullptr) share /= *weight_sum;
    const T slope = (sigmoid - label) * share;
    gradient[row * gradient_stride + column] = counts ? slope : T(0);
  }
};

template <class T>
struct GatherWeight {
  const float* weight;
  int64_t stride;
  T* out;
  MILLRACE_HD void operator()(int64_t row) const { out[row] = static_cast<T>(weight[row * stride]); }
};

// loss[0] becomes the mean, loss[1] the weight of all rows.
template <class T>
struct Finish {
  T* loss;
  T rows;  // 0: weighted, and loss[1] is there already
  MILLRACE_HD void operator()(int64_t) const {
    if (rows != T(0)) {
      loss[1] = rows;
    } else {
      loss[0] = loss[1] != T(0) ? loss[0] / loss[1] : T(0);
    }
  }
};

class Plan final : public LossPlan {
 public:
  explicit Plan(const LossPlanArgs& args)
      : rows_(args.prediction.rows()),
        columns_(args.prediction.columns()),
        weighted_(args.weighted),
        sum_at_(aligned_bytes(static_cast<size_t>(rows_ * columns_) * size_of(args.prediction.dtype()))) {
    require_dtype("sigmoid_cross_entropy", args.label.spec(), DType::f32);
  }

  size_t scratch_bytes() const override { return sum_at_ + sum_scratch(rows_ * columns_); }

  void run(Context& context, const LossArgs& args) override {
    dispatch_float(args.prediction.dtype(), [&]<class T>() { run_as<T>(context, args); });
  }

 private:
  template <class T>
  void run_as(Context& context, const LossArgs& args) const {
    auto* const scratch = static_cast<std::byte*>(args.scratch);
    auto* const term = reinterpret_cast<T*>(scratch);
    void* const sum_space = scratch + sum_at_;
    T* const loss = static_cast<T*>(args.loss);
    T* const weight_sum = weighted_ ? loss + 1 : nullptr;
    constexpr DType dtype = DTypeOf<T>::value;
    if (weighted_) {
      // The terms' place holds the weights first.
      for_each_index(context, rows_, GatherWeight<T>{args.weight.as<float>(), args.weight.stride(), term});
      sum(context, ConstTensorView(term, dtype, Shape{rows_}), weight_sum, 1.0, sum_space);
    }
    const double count = static_cast<double>(weighted_ ? columns_ : rows_ * columns_);
    for_each_row_column(
        context, rows_, columns_,
        CrossEntropy<T>{args.prediction.as<T>(), args.label.as<float>(), weighted_ ? args.weight.as<float>() : nullptr,
                        weight_sum, term, args.gradient.as<T>(), args.prediction.stride(), args.label.stride(),
                        args.weight.stride(), args.gradient.stride(), columns_, static_cast<T>(1.0 / count)});
    sum(context, ConstTensorView(term, dtype, Shape{rows_ * columns_}), loss, 1.0 / count, sum_space);
    for_each_index(context, 1, Finish<T>{loss, weighted_ ? T(0) : static_cast<T>(rows_)});
  }

  int64_t rows_, columns_;
  bool weighted_;
  size_t sum_at_;
};

// Labels are probabilities, usually 0 or 1; the mean is over the rows and over the columns of a row.
class SigmoidCrossEntropy final : public Loss {
 public:
  struct Options {
    void declare(OptionReader&) {}
  };
  static constexpr std::string_view kDoc = "cross-entropy of the sigmoid of each logit with a label between 0 and 1";

  explicit SigmoidCrossEntropy(const Options&) {}

  void check(const TensorSpec& prediction, const TensorSpec& label) const override {
    require_float(prediction);
    if (prediction.shape == label.shape) return;
    throw ShapeError(cat("sigmoid_cross_entropy: the prediction is ", prediction.shape.text(), " a row, the label ",
                         label.shape.text()),
                     {}, "the last layer needs one unit for each value of the label");
  }
  LabelSpec label(const TensorSpec&) const override {
    return {.dtype = DType::f32, .range = ValueRange{.min = 0, .max = 1, .hint = "0 stands for no and 1 for yes"}};
  }
  std::unique_ptr<LossPlan> plan(Context&, const LossPlanArgs& args) const override {
    return std::make_unique<Plan>(args);
  }
};

}  // namespace
}  // namespace millrace

MILLRACE_REGISTER_LOSS(sigmoid_cross_entropy, SigmoidCrossEntropy);
