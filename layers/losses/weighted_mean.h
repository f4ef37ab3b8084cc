// WeightedMean: what the losses share: the mean of their terms over the batch's rows, weighted or not.
//
// A loss writes its terms, one or more a row and each times its row's weight, and a slope for each value of the
// prediction; RowShares says what a row counts. Everything runs on the device, in an order that shapes alone decide.
#pragma once

#include <cstddef>
#include <cstdint>

#include "millrace/core/context.h"
#include "millrace/core/hd.h"
#include "millrace/core/kernels/reduce.h"
#include "millrace/core/parallel.h"
#include "millrace/core/tensor.h"
#include "millrace/layers/loss.h"

namespace millrace {

// Like the loops of parallel.h, these templates have another name in CUDA units than in C++ ones.
inline namespace MILLRACE_UNIT {

template <class T>
struct RowShares {
  const float* weight;  // null: 1 for each row
  const T* weight_sum;  // null: the number of rows
  int64_t stride;
  T inverse_count;  // of what the mean divides by beside the weights

  // 0: the row does not count. Its results are chosen, not multiplied: 0 times a value that is not finite would show.
  MILLRACE_HD T weight_of(int64_t row) const { return weight != nullptr ? static_cast<T>(weight[row * stride]) : T(1); }
  // What the slope of a term counts in the gradient of the mean.
  MILLRACE_HD T share_of(T row_weight) const {
    const T share = row_weight * inverse_count;
    return weight_sum != nullptr ? share / *weight_sum : share;
  }
};

template <class T>
struct GatherLossWeight {
  RowShares<T> rows;
  T* out;
  MILLRACE_HD void operator()(int64_t row) const { out[row] = rows.weight_of(row); }
};

// loss[0] becomes the mean, loss[1] the weight of all rows.
template <class T>
struct FinishMean {
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

class WeightedMean {
 public:
  // Of `terms` terms a row.
  WeightedMean(const LossPlanArgs& args, int64_t terms)
      : rows_(args.prediction.rows()),
        terms_(terms),
        weighted_(args.weighted),
        sum_at_(aligned_bytes(static_cast<size_t>(rows_ * terms_) * size_of(args.prediction.dtype()))) {}

  size_t scratch_bytes() const { return sum_at_ + sum_scratch(rows_ * terms_); }

  // Stores args.loss. write(RowShares<T>, T* terms) stores the terms, contiguous, and the gradient.
  // REQUIRES: T is the prediction's type; args.scratch has scratch_bytes().
  template <class T, class Write>
  void run(Context& context, const LossArgs& args, const Write& write) const {
    auto* const scratch = static_cast<std::byte*>(args.scratch);
    auto* const terms = reinterpret_cast<T*>(scratch);
    void* const sum_space = scratch + sum_at_;
    T* const loss = static_cast<T*>(args.loss);
    constexpr DType dtype = DTypeOf<T>::value;
    const double count = static_cast<double>(weighted_ ? terms_ : rows_ * terms_);
    const RowShares<T> shares{.weight = weighted_ ? args.weight.as<float>() : nullptr,
                              .weight_sum = weighted_ ? loss + 1 : nullptr,
                              .stride = args.weight.stride(),
                              .inverse_count = static_cast<T>(1.0 / count)};
    if (weighted_) {
      // The terms' place holds the weights first.
      for_each_index(context, rows_, GatherLossWeight<T>{shares, terms});
      sum(context, ConstTensorView(terms, dtype, Shape{rows_}), loss + 1, 1.0, sum_space);
    }
    write(shares, terms);
    sum(context, ConstTensorView(terms, dtype, Shape{rows_ * terms_}), loss, 1.0 / count, sum_space);
    for_each_index(context, 1, FinishMean<T>{loss, weighted_ ? T(0) : static_cast<T>(rows_)});
  }

 private:
  int64_t rows_, terms_;
  bool weighted_;
  size_t sum_at_;
};

}  // namespace MILLRACE_UNIT
}  // namespace millrace
