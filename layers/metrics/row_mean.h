// Parts of metrics that are a weighted mean over rows: every row has a number, RowMeanPlan adds the numbers up, and
// RowMeanAccumulator divides.
//
// Sums are in double, in an order that the batches' shapes decide. If rows are not weighted and the numbers are whole,
// every window is exact; otherwise another division of the rows into batches may change the last bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>

#include "millrace/core/context.h"
#include "millrace/core/export.h"
#include "millrace/core/kernels/reduce.h"
#include "millrace/core/parallel.h"
#include "millrace/core/tensor.h"
#include "millrace/layers/loss.h"

namespace millrace {

inline namespace MILLRACE_UNIT {

struct RowWeight {
  const float* weight;  // null: 1 for each row
  int64_t stride;
  MILLRACE_HD double operator()(int64_t row) const {
    return weight != nullptr ? static_cast<double>(weight[row * stride]) : 1.0;
  }
};

inline RowWeight weight_of(const MetricArgs& args) { return {args.weight.as<float>(), args.weight.stride()}; }

struct GatherWeight {
  RowWeight weight;
  double* out;
  MILLRACE_HD void operator()(int64_t row) const { out[row] = weight(row); }
};

// Adds up the numbers of a batch's rows. The scratch begins with the place for the numbers.
class RowSums {
 public:
  // Room for `numbers` a row.
  RowSums(const MetricPlanArgs& args, int64_t numbers)
      : batch_(args.prediction.rows()), numbers_(numbers), weighted_(args.weighted) {}

  int64_t batch() const { return batch_; }
  bool weighted() const { return weighted_; }
  size_t scratch_bytes() const { return number_bytes() + sum_scratch(batch_ * numbers_); }

  // *result = the sum of the numbers at args.scratch, contiguous, times `scale`.
  void add_up(Context& context, const MetricArgs& args, double scale, double* result) const {
    add_up(context, args, numbers_, scale, result);
  }
  // *result = the weight of all rows; overwrites the numbers.
  void add_up_weights(Context& context, const MetricArgs& args, double* result) const {
    for_each_index(context, batch_, GatherWeight{weight_of(args), static_cast<double*>(args.scratch)});
    add_up(context, args, 1, 1.0, result);
  }

 private:
  size_t number_bytes() const { return aligned_bytes(static_cast<size_t>(batch_ * numbers_) * sizeof(double)); }
  void add_up(Context& context, const MetricArgs& args, int64_t numbers, double scale, double* result) const {
    const ConstTensorView values(args.scratch, DType::f64, Shape{batch_ * numbers});
    sum(context, values, result, scale, static_cast<std::byte*>(args.scratch) + number_bytes());
  }

  int64_t batch_, numbers_;
  bool weighted_;
};

// The partial is one or two doubles: the sum over the rows of weight times number and, if rows are weighted, the sum of
// the weights. Without weights the accumulator counts the rows.
class MILLRACE_EXPORT RowMeanPlan : public MetricPlan {
 public:
  size_t partial_bytes() const final { return (sums_.weighted() ? 2 : 1) * sizeof(double); }
  size_t scratch_bytes() const final { return sums_.scratch_bytes(); }

  void run(Context& context, const MetricArgs& args) final {
    auto* const partial = static_cast<double*>(args.partial);
    write(context, args, weight_of(args), static_cast<double*>(args.scratch));
    sums_.add_up(context, args, scale_, partial);
    if (sums_.weighted()) sums_.add_up_weights(context, args, partial + 1);
  }

 protected:
  // A row's number is the mean of its `terms`.
  explicit RowMeanPlan(const MetricPlanArgs& args, int64_t terms = 1)
      : sums_(args, terms), scale_(1.0 / static_cast<double>(terms)) {}

  int64_t batch() const { return sums_.batch(); }
  // Stores the terms, row by row, each times its row's weight; 0 if the weight is 0.
  virtual void write(Context& context, const MetricArgs& args, const RowWeight& weight, double* terms) const = 0;

 private:
  RowSums sums_;
  double scale_;
};

class MILLRACE_EXPORT RowMeanAccumulator : public MetricAccumulator {
 public:
  void add(std::span<const std::byte> partial, int64_t rows) final {
    double sums[2] = {0, static_cast<double>(rows)};
    std::memcpy(sums, partial.data(), partial.size());
    sum_ += sums[0];
    weight_ += sums[1];
  }
  double value() const override { return weight_ > 0 ? sum_ / weight_ : std::numeric_limits<double>::quiet_NaN(); }
  void reset() final { sum_ = weight_ = 0; }
  void save(State& state) const final {
    state.set_real("sum", sum_);
    state.set_real("weight", weight_);
  }
  void restore(const State& state) final {
    sum_ = state.real("sum");
    weight_ = state.real("weight");
  }

 private:
  double sum_ = 0, weight_ = 0;
};

}  // namespace MILLRACE_UNIT
}  // namespace millrace
