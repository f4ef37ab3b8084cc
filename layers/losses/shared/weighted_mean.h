// WeightedMean: what the losses share: the mean of their terms over the batch's rows, weighted or not.
//
// A loss writes its terms, one or more a row and each times its row's weight, and a slope for each value of the
// prediction; RowShares says what a row counts. Everything runs on the device, in an order that shapes alone decide.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "millrace/core/context.h"
#include "millrace/core/export.h"
#include "millrace/core/hd.h"
#include "millrace/core/kernels/head.h"
#include "millrace/core/kernels/reduce.h"
#include "millrace/core/parallel.h"
#include "millrace/core/tensor.h"
#include "millrace/layers/loss.h"

namespace millrace {

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

// Like the loops of parallel.h, this template has another name in CUDA units than in C++ ones.
inline namespace MILLRACE_UNIT {

// The weight of all rows, of which `shares` then knows; `weight` is a lane's place for it.
template <class T, class Lanes>
MILLRACE_HD void add_weights(const Lanes& lanes, int64_t rows, RowShares<T>& shares, T& weight) {
  weight = static_cast<T>(rows);
  if (shares.weight == nullptr) return;
  weight = static_cast<T>(lanes.sum(rows, [&](int64_t row) { return static_cast<double>(shares.weight_of(row)); }));
  shares.weight_sum = &weight;
}

// `mean` is that of the terms, by their number where they are not weighted.
template <class T>
MILLRACE_HD void store_mean(T* loss, T mean, bool weighted, T weight) {
  loss[0] = !weighted ? mean : weight != T(0) ? mean / weight : T(0);
  loss[1] = weight;
}

// All of a loss whose rows are done together by a block of a GPU's threads.
template <class T, class Term>
struct WholeMean {
  Term term;  // of (RowShares<T>, row, index within the row): the term, times the row's weight; stores the slope
  RowShares<T> shares;
  T* loss;
  int64_t rows, terms;
  double scale;          // of the sum: what it is divided by beside the weights
  bool weight_is_known;  // loss[1] has the sum of the weights

  template <class Lanes>
  MILLRACE_HD void operator()(int64_t, const Lanes& lanes) const {
    RowShares<T> of = shares;
    T weight;
    if (weight_is_known) {
      weight = loss[1];
    } else {
      add_weights(lanes, rows, of, weight);
    }
    const double sum =
        lanes.sum(rows, terms, [&](int64_t row, int64_t i) { return static_cast<double>(term(of, row, i)); });
    if (lanes.first()) store_mean(loss, static_cast<T>(sum * scale), of.weight != nullptr, weight);
  }
};

// A loss with one term a row, and the head before it: a block of a GPU's threads for each row. The last one to end
// joins the terms, in the order of the rows.
template <class Term>
struct HeadAndMean {
  HeadRow head;
  Term term;  // as WholeMean's
  RowShares<float> shares;
  float* loss;
  float* terms;
  unsigned* ticket;
  int64_t rows;
  double scale;

  template <class Lanes>
  MILLRACE_HD void operator()(int64_t row, const Lanes& lanes) const {
    head(row, lanes);
    RowShares<float> of = shares;
    float weight;
    add_weights(lanes, rows, of, weight);
    if (lanes.first()) terms[row] = term(of, row, 0);
    if (!lanes.last_row(ticket)) return;
    const double sum = lanes.sum(rows, [&](int64_t i) { return static_cast<double>(terms[i]); });
    if (lanes.first()) store_mean(loss, static_cast<float>(sum * scale), of.weight != nullptr, weight);
  }
};

}  // namespace MILLRACE_UNIT

class MILLRACE_EXPORT WeightedMean {
 public:
  // Of `terms` terms a row.
  WeightedMean(const LossPlanArgs& args, int64_t terms)
      : rows_(args.prediction.rows()),
        terms_(terms),
        weighted_(args.weighted),
        sum_at_(aligned_bytes(static_cast<size_t>(rows_ * terms_) * size_of(args.prediction.dtype()))) {}

  size_t scratch_bytes() const { return sum_at_ + sum_scratch(rows_ * terms_); }

  // Stores args.loss in one launch, on CUDA where the rows are few; false: run() does it. `term` as WholeMean's.
  template <class T, class Term>
  bool run_at_once(Context& context, const LossArgs& args, const Term& term, bool weight_is_known = false) const {
    if (context.device().is_cpu() || rows_ * terms_ > kAtOnce) return false;
    // float64 is for checks of gradients.
    if constexpr (std::is_same_v<T, float>) {
      launch_rows(context, 1, kLanesPerTerm * rows_ * terms_,
                  WholeMean<T, Term>{term, shares<T>(args), static_cast<T*>(args.loss), rows_, terms_, 1.0 / count(),
                                     weight_is_known});
      return true;
    }
    return false;
  }

  // Whether run_with() can do it: each row sums up all weights.
  bool can_run_with_head() const { return terms_ == 1 && rows_ <= (weighted_ ? kWeightsAtOnce : kAtOnce); }
  // Computes the head, whose y is the prediction, and stores args.loss, in one launch. `term` as WholeMean's.
  // REQUIRES: can_run_with_head(); float32 values.
  template <class Term>
  void run_with(Context& context, const Head& head, const LossArgs& args, const Term& term) const {
    launch_rows(context, rows_, head.x.columns(),
                HeadAndMean<Term>{HeadRow(head), term, shares<float>(args), static_cast<float*>(args.loss),
                                  static_cast<float*>(args.scratch), head.ticket, rows_, 1.0 / count()});
  }

  // Stores args.loss. write(RowShares<T>, T* terms) stores the terms, contiguous, and the gradient.
  // REQUIRES: T is the prediction's type; args.scratch has scratch_bytes().
  template <class T, class Write>
  void run(Context& context, const LossArgs& args, const Write& write) const {
    if (weighted_) sum_weights(context, args);
    write(shares<T>(args), static_cast<T*>(args.scratch));
    finish(context, args);
  }

 private:
  // Terms that one block of threads is soon done with.
  static constexpr int64_t kAtOnce = 8192;
  // Weights that every row may sum up.
  static constexpr int64_t kWeightsAtOnce = 1024;
  // What makes launch_rows() take a thread for each of few terms.
  static constexpr int64_t kLanesPerTerm = 4;

  template <class T>
  RowShares<T> shares(const LossArgs& args) const {
    return {.weight = weighted_ ? args.weight.as<float>() : nullptr,
            .weight_sum = weighted_ ? static_cast<const T*>(args.loss) + 1 : nullptr,
            .stride = args.weight.stride(),
            .inverse_count = static_cast<T>(1.0 / count())};
  }
  // Of what the mean divides by beside the weights.
  double count() const { return static_cast<double>(weighted_ ? terms_ : rows_ * terms_); }
  // Stores the weight of all rows, behind the place of the loss.
  void sum_weights(Context& context, const LossArgs& args) const;
  // Stores the mean of the terms.
  void finish(Context& context, const LossArgs& args) const;

  int64_t rows_, terms_;
  bool weighted_;
  size_t sum_at_;
};

}  // namespace millrace
