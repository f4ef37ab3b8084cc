#include "millrace/layers/metrics/shared/class_counts.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "millrace/core/errors.h"
#include "millrace/core/kernels/reduce.h"
#include "millrace/core/parallel.h"
#include "millrace/core/sizes.h"
#include "millrace/core/text.h"
#include "millrace/layers/metrics/labels.h"
#include "millrace/layers/metrics/row_mean.h"

namespace millrace {
namespace {

struct RowClass {
  int64_t predicted;  // -1: none
  int64_t labelled;
  double weight;
};

template <class T, class Label>
struct FindClass {
  ClassRows<T, Label> rows;
  RowWeight weight;
  RowClass* out;
  MILLRACE_HD void operator()(int64_t row) const { out[row] = {rows.predicted(row), rows.labelled(row), weight(row)}; }
};

// Index i is column i % columns of the counts of a block of rows: one of the three counts of a class, or, the last
// column, the weight of the rows.
struct CountBlock {
  const RowClass* rows;
  int64_t batch, first_class, classes;
  double* out;

  MILLRACE_HD void operator()(int64_t i) const {
    const int64_t columns = 3 * classes + 1, block = i / columns, column = i % columns;
    const int64_t begin = block * kSumRows, end = begin + kSumRows < batch ? begin + kSumRows : batch;
    double total = 0;
    for (int64_t row = begin; row < end; ++row) total += counts(rows[row], column) ? rows[row].weight : 0;
    out[i] = total;
  }

  // Whether the row counts in this column.
  MILLRACE_HD bool counts(const RowClass& row, int64_t column) const {
    const int64_t wanted = first_class + column / 3;
    if (column == 3 * classes) return true;
    const bool predicted = row.predicted == wanted, labelled = row.labelled == wanted;
    return column % 3 == 0 ? predicted && labelled : (column % 3 == 1 ? predicted : labelled);
  }
};

// The partial: a ClassCounts for each class, then the weight of all rows.
class ClassCountsPlan final : public MetricPlan {
 public:
  ClassCountsPlan(std::string_view metric, const MetricPlanArgs& args)
      : batch_(args.prediction.rows()),
        columns_(args.prediction.columns()),
        blocks_({Shape{ceil_div(batch_, kSumRows), 3 * columns_ + 1}, DType::f64}),
        blocks_at_(aligned_bytes(static_cast<size_t>(batch_) * sizeof(RowClass))),
        sums_at_(blocks_at_ + aligned_bytes(blocks_.bytes())) {
    require_label_dtype(metric, args.label.spec());
  }

  size_t partial_bytes() const override { return static_cast<size_t>(blocks_.shape[1]) * sizeof(double); }
  size_t scratch_bytes() const override { return sums_at_ + column_sum_scratch(blocks_); }

  void run(Context& context, const MetricArgs& args) override {
    auto* const scratch = static_cast<std::byte*>(args.scratch);
    auto* const rows = reinterpret_cast<RowClass*>(scratch);
    auto* const blocks = reinterpret_cast<double*>(scratch + blocks_at_);
    const RowWeight weight = weight_of(args);
    for_each_class_row(context, args.prediction, args.label,
                       [&]<class T, class Label>(const ClassRows<T, Label>& each) {
                         return FindClass<T, Label>{each, weight, rows};
                       });
    // If there is one logit, "yes" is class 1.
    for_each_row(context, blocks_.shape.elements(), kSumRows,
                 CountBlock{rows, batch_, columns_ == 1 ? 1 : 0, columns_, blocks});
    column_sum(context, ConstTensorView(blocks, DType::f64, blocks_.shape),
               {.view = TensorView(args.partial, DType::f64, Shape{blocks_.shape[1]})}, scratch + sums_at_);
  }

 private:
  int64_t batch_, columns_;
  TensorSpec blocks_;  // the counts of each block of kSumRows rows
  size_t blocks_at_, sums_at_;
};

class ClassCountsAccumulator final : public MetricAccumulator {
 public:
  explicit ClassCountsAccumulator(ClassScore score) : score_(score) {}

  void add(std::span<const std::byte> partial, int64_t) override {
    const size_t numbers = partial.size() / sizeof(double);
    if (totals_.empty()) totals_.resize(numbers);
    if (totals_.size() != numbers) {
      throw DataError(cat("the saved state counts ", totals_.size() / 3, " classes, the model has ", numbers / 3));
    }
    for (size_t i = 0; i < totals_.size(); ++i) {
      double count = 0;
      std::memcpy(&count, partial.data() + i * sizeof count, sizeof count);
      totals_[i] += count;
    }
  }

  double value() const override {
    if (totals_.empty() || totals_.back() == 0) return std::numeric_limits<double>::quiet_NaN();
    const size_t classes = totals_.size() / 3;
    double sum = 0, occurring = 0;
    for (size_t i = 0; i < classes; ++i) {
      const ClassCounts counts{totals_[3 * i], totals_[3 * i + 1], totals_[3 * i + 2]};
      sum += score_(counts);
      occurring += counts.predicted > 0 || counts.labelled > 0 ? 1 : 0;
    }
    return quotient(sum, occurring);
  }

  void reset() override { totals_.clear(); }

  void save(State& state) const override { state.set_reals("counts", totals_); }
  void restore(const State& state) override {
    std::vector<double> counts = state.reals("counts");
    if (!counts.empty() && counts.size() % 3 != 1) {
      throw DataError(cat("the saved counts of classes are ", counts.size(), " numbers, expected 3 a class and 1"));
    }
    totals_ = std::move(counts);
  }

 private:
  ClassScore score_;
  std::vector<double> totals_;  // as the partial
};

}  // namespace

void ClassCountsMetric::check(const TensorSpec& prediction, const TensorSpec& label) const {
  check_logits(kind_, prediction, label);
}

std::unique_ptr<MetricPlan> ClassCountsMetric::plan(Context&, const MetricPlanArgs& args) const {
  return std::make_unique<ClassCountsPlan>(kind_, args);
}

std::unique_ptr<MetricAccumulator> ClassCountsMetric::accumulator() const {
  return std::make_unique<ClassCountsAccumulator>(score_);
}

}  // namespace millrace
