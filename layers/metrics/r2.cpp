// r2: how much of the labels' deviations from their mean the predictions explain.
#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "millrace/layers/catalog.h"
#include "millrace/layers/metrics/regression.h"

namespace millrace {
namespace {

// Stores the first row that counts; 0 if there is none.
struct FindFirst {
  RowWeight weight;
  int64_t rows;
  double* first;
  MILLRACE_HD void operator()(int64_t) const {
    int64_t row = 0;
    while (row < rows && weight(row) == 0) ++row;
    *first = static_cast<double>(row < rows ? row : 0);
  }
};

// A column's label in the first row that counts. If it is subtracted, labels that are all equal become exactly 0.
struct Origin {
  const float* y;
  int64_t stride;
  const double* first;
  MILLRACE_HD double operator()(int64_t column) const {
    return static_cast<double>(y[static_cast<int64_t>(*first) * stride + column]);
  }
};

// Weight times (label - origin - shift)^power; power is 1 or 2.
struct Deviation {
  Origin origin;
  int64_t columns;
  RowWeight weight;
  const double* weight_sum;
  const double* shift_sum;  // null: no shift, and power 1; else a column's shift is its shift_sum / weight_sum
  double* term;             // (B, C), contiguous
  MILLRACE_HD void operator()(int64_t row, int64_t column) const {
    const double w = weight(row);
    double deviation = static_cast<double>(origin.y[row * origin.stride + column]) - origin(column);
    if (shift_sum != nullptr) {
      deviation -= shift_sum[column] / *weight_sum;
      deviation *= deviation;
    }
    term[row * columns + column] = w != 0 ? w * deviation : 0;
  }
};

// Turns the sums of the deviations from the origins into means of the labels.
struct FinishMeans {
  Origin origin;
  const double* weight_sum;
  double* mean;
  MILLRACE_HD void operator()(int64_t column) const {
    mean[column] = *weight_sum != 0 ? origin(column) + mean[column] / *weight_sum : 0;
  }
};

// The partial: the rows' weight; the sum of the squared errors; the first row that counts, which is not joined; for
// each column the mean of its labels; for each column the sum of the squared deviations from it. Doubles, all weighted.
constexpr int64_t kWeight = 0, kErrors = 1, kFirst = 2, kMeans = 3;

class R2Plan final : public MetricPlan {
 public:
  explicit R2Plan(const MetricPlanArgs& args)
      : columns_(args.prediction.columns()),
        sums_(args, columns_),
        terms_({Shape{sums_.batch(), columns_}, DType::f64}),
        column_sums_at_(aligned_bytes(terms_.bytes())) {
    require_dtype("r2", args.label.spec(), DType::f32);
  }

  size_t partial_bytes() const override { return static_cast<size_t>(kMeans + 2 * columns_) * sizeof(double); }
  size_t scratch_bytes() const override {
    return std::max(sums_.scratch_bytes(), column_sums_at_ + column_sum_scratch(terms_));
  }

  void run(Context& context, const MetricArgs& args) override {
    auto* const partial = static_cast<double*>(args.partial);
    auto* const terms = static_cast<double*>(args.scratch);
    double* const means = partial + kMeans;
    const RowWeight weight = weight_of(args);
    sums_.add_up_weights(context, args, partial + kWeight);
    write_errors<SquareOf>(context, args, weight, terms);
    sums_.add_up(context, args, 1.0, partial + kErrors);

    for_each_index(context, 1, FindFirst{weight, sums_.batch(), partial + kFirst});
    const Origin origin{args.label.as<float>(), args.label.stride(), partial + kFirst};
    Deviation deviation{origin, columns_, weight, partial + kWeight, nullptr, terms};
    for_each_row_column(context, sums_.batch(), columns_, deviation);
    add_up_columns(context, args, means);
    deviation.shift_sum = means;
    for_each_row_column(context, sums_.batch(), columns_, deviation);
    add_up_columns(context, args, means + columns_);
    for_each_index(context, columns_, FinishMeans{origin, partial + kWeight, means});
  }

 private:
  void add_up_columns(Context& context, const MetricArgs& args, double* result) const {
    column_sum(context, ConstTensorView(args.scratch, DType::f64, terms_.shape),
               {.view = TensorView(result, DType::f64, Shape{columns_})},
               static_cast<std::byte*>(args.scratch) + column_sums_at_);
  }

  int64_t columns_;
  RowSums sums_;
  TensorSpec terms_;
  size_t column_sums_at_;
};

// Joins means and squared deviations as Chan, Golub and LeVeque do: nothing large is subtracted.
class R2Accumulator final : public MetricAccumulator {
 public:
  void add(std::span<const std::byte> partial, int64_t) override {
    added_.resize(partial.size() / sizeof(double));
    std::memcpy(added_.data(), partial.data(), partial.size());
    const double weight = added_[kWeight];
    if (weight == 0) return;
    if (weight_ == 0) {
      joined_.assign(added_.begin(), added_.end());
      weight_ = weight;
      return;
    }
    const size_t columns = columns_of(added_);
    if (joined_.size() != added_.size()) {
      throw DataError(cat("the saved state of r2 has ", columns_of(joined_), " columns, the model has ", columns));
    }
    const double all = weight_ + weight;
    joined_[kErrors] += added_[kErrors];
    for (size_t i = kMeans; i < kMeans + columns; ++i) {
      const double apart = added_[i] - joined_[i];
      joined_[i] += apart * (weight / all);
      joined_[i + columns] += added_[i + columns] + apart * apart * (weight_ * weight / all);
    }
    weight_ = all;
  }
  double value() const override {
    if (weight_ == 0) return std::numeric_limits<double>::quiet_NaN();
    const double errors = joined_[kErrors];
    double deviations = 0;
    for (size_t i = kMeans + columns_of(joined_); i < joined_.size(); ++i) deviations += joined_[i];
    if (deviations == 0 && errors >= 0) return errors == 0 ? 1 : 0;
    return 1 - errors / deviations;
  }
  void reset() override { weight_ = 0; }

  void save(State& state) const override {
    state.set_real("weight", weight_);
    state.set_reals("sums", weight_ == 0 ? std::vector<double>() : joined_);
  }
  void restore(const State& state) override {
    const double weight = state.real("weight");
    std::vector<double> sums = state.reals("sums");
    if (weight != 0 && (sums.size() <= kMeans || (sums.size() - kMeans) % 2 != 0)) {
      throw DataError(cat("the saved state of r2 has ", sums.size(), " sums, expected 3 and 2 a column"));
    }
    weight_ = weight;
    joined_ = std::move(sums);
  }

 private:
  static size_t columns_of(const std::vector<double>& sums) { return (sums.size() - kMeans) / 2; }

  std::vector<double> added_, joined_;  // as the partial, but for the weight; kept, so that a window allocates nothing
  double weight_ = 0;
};

class R2 final : public Metric {
 public:
  static constexpr std::string_view kDoc =
      "coefficient of determination: 1 - squared errors / squared deviations of the labels from their column's mean, "
      "each summed over all columns; if all labels are equal, it is 1 if every prediction is right, else 0";

  static std::optional<Spec> suit(const FoundField& label) { return plain_if(label.has(FoundField::Holds::amounts)); }

  void check(const TensorSpec& prediction, const TensorSpec& label) const override {
    check_numbers("r2", prediction, label);
  }
  std::unique_ptr<MetricPlan> plan(Context&, const MetricPlanArgs& args) const override {
    return std::make_unique<R2Plan>(args);
  }
  std::unique_ptr<MetricAccumulator> accumulator() const override { return std::make_unique<R2Accumulator>(); }
  bool less_is_better() const override { return false; }
  Predictions predictions() const override { return Predictions::numbers; }
};

}  // namespace
}  // namespace millrace

MILLRACE_REGISTER_METRIC(r2, R2);
