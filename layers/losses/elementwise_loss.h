// Losses that are a mean over the rows. ElementwiseLoss, at the end: a loss that judges each value by itself, by a
// functor. WeightedMean, which all of them share: the mean of a loss's terms over the batch's rows, weighted or not.
//
//   struct Squares {                                            // a named functor, never a lambda
//     template <class T> MILLRACE_HD LossTerm<T> operator()(T x, T y) const { return {(x - y) * (x - y), 2 * (x - y)};
//     }
//   };
//   class Mse final : public ElementwiseLoss<Squares> {..};
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string_view>
#include <type_traits>

#include "millrace/core/context.h"
#include "millrace/core/export.h"
#include "millrace/core/kernels/reduce.h"
#include "millrace/core/parallel.h"
#include "millrace/core/tensor.h"
#include "millrace/layers/head.h"
#include "millrace/layers/layer.h"
#include "millrace/layers/loss.h"

namespace millrace {

// How much each row counts.
template <class T>
struct RowShares {
  const float* weight;  // null: 1 for each row
  const T* weight_sum;  // null: the number of rows
  int64_t stride;
  T inverse_count;  // 1 over the divisor of the mean, without the weights

  // 0 if the row does not count. Then its result is 0: do not multiply by the weight, as 0 times a value that is not
  // finite would be NaN.
  MILLRACE_HD T weight_of(int64_t row) const { return weight != nullptr ? static_cast<T>(weight[row * stride]) : T(1); }
  // The factor of a term's slope in the gradient of the mean.
  MILLRACE_HD T share_of(T row_weight) const {
    const T share = row_weight * inverse_count;
    return weight_sum != nullptr ? share / *weight_sum : share;
  }
};

inline namespace MILLRACE_UNIT {

// Stores the weight of all rows in `weight`, a variable of the lane. If rows are weighted, `shares` points to it then.
template <class T, class Lanes>
MILLRACE_HD void add_weights(const Lanes& lanes, int64_t rows, RowShares<T>& shares, T& weight) {
  weight = static_cast<T>(rows);
  if (shares.weight == nullptr) return;
  weight = static_cast<T>(lanes.sum(rows, [&](int64_t row) { return static_cast<double>(shares.weight_of(row)); }));
  shares.weight_sum = &weight;
}

// Stores loss and weight. `mean` is the sum of the terms divided by their number or, if rows are weighted, by the
// number of terms in a row; then `weight` divides it, too.
template <class T>
MILLRACE_HD void store_mean(T* loss, T mean, bool weighted, T weight) {
  loss[0] = !weighted ? mean : weight != T(0) ? mean / weight : T(0);
  loss[1] = weight;
}

// A whole loss, computed by one block of a GPU's threads.
template <class T, class Term>
struct WholeMean {
  Term term;  // term(RowShares<T>, row, index within the row): the term, times the row's weight; stores the slope
  RowShares<T> shares;
  T* loss;
  int64_t rows, terms;
  double scale;          // the sum is multiplied by it: 1 over the divisor of the mean, without the weights
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

// A loss with one term for each row, and the head before it: each row has a block of a GPU's threads. The last block to
// end joins the terms, in the order of the rows.
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

// A loss writes its terms, one or more a row and each times its row's weight, and a slope for each value of the
// prediction. Everything runs on the device, in an order that only shapes decide.
class MILLRACE_EXPORT WeightedMean {
 public:
  // For a loss with `terms` terms a row.
  WeightedMean(const LossPlanArgs& args, int64_t terms)
      : rows_(args.prediction.rows()),
        terms_(terms),
        weighted_(args.weighted),
        sum_at_(aligned_bytes(static_cast<size_t>(rows_ * terms_) * size_of(args.prediction.dtype()))) {}

  size_t scratch_bytes() const { return sum_at_ + sum_scratch(rows_ * terms_); }

  // Stores args.loss in one launch, on CUDA if the rows are few; false: call run() instead. `term` as WholeMean's.
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

  // Whether run_with() may be called. Rows must be few, as the block of each row sums up all weights.
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
  // Up to this many terms, one block of threads is fast enough.
  static constexpr int64_t kAtOnce = 8192;
  // Up to this many weights, the block of every row may sum all of them up.
  static constexpr int64_t kWeightsAtOnce = 1024;
  // With so many columns for each term, launch_rows() takes a thread for each term, if the terms are few.
  static constexpr int64_t kLanesPerTerm = 4;

  template <class T>
  RowShares<T> shares(const LossArgs& args) const {
    return {.weight = weighted_ ? args.weight.as<float>() : nullptr,
            .weight_sum = weighted_ ? static_cast<const T*>(args.loss) + 1 : nullptr,
            .stride = args.weight.stride(),
            .inverse_count = static_cast<T>(1.0 / count())};
  }
  // The divisor of the mean, without the weights.
  double count() const { return static_cast<double>(weighted_ ? terms_ : rows_ * terms_); }
  // Stores the weight of all rows in loss[1].
  void sum_weights(Context& context, const LossArgs& args) const;
  // Stores the mean of the terms.
  void finish(Context& context, const LossArgs& args) const;

  int64_t rows_, terms_;
  bool weighted_;
  size_t sum_at_;
};

inline namespace MILLRACE_UNIT {

template <class T>
struct LossTerm {
  T value;
  T slope;  // the derivative by the prediction
};

template <class T, class Label, class F>
struct ElementwiseTerm {
  F f;
  const T* x;
  const Label* y;
  T* gradient;  // null if nobody needs it
  int64_t x_stride, y_stride, gradient_stride;

  MILLRACE_HD T operator()(const RowShares<T>& rows, int64_t row, int64_t column) const {
    const LossTerm<T> found = f(x[row * x_stride + column], static_cast<T>(y[row * y_stride + column]));
    const T w = rows.weight_of(row);
    const bool counts = w != T(0);
    if (gradient != nullptr) {
      gradient[row * gradient_stride + column] = counts ? found.slope * rows.share_of(w) : T(0);
    }
    return counts ? w * found.value : T(0);
  }
};

template <class T, class Term>
struct StoreTerm {
  Term of;
  RowShares<T> rows;
  T* term;  // (B, C), contiguous
  int64_t columns;
  MILLRACE_HD void operator()(int64_t row, int64_t column) const {
    term[row * columns + column] = of(rows, row, column);
  }
};

// Label is float, or int32_t if only whole numbers make sense.
template <class F, class Label>
class ElementwiseLossPlan final : public HeadLossPlan {
 public:
  ElementwiseLossPlan(const LossPlanArgs& args, F f)
      : f_(f), rows_(args.prediction.rows()), columns_(args.prediction.columns()), mean_(args, columns_) {}

  size_t scratch_bytes() const override { return mean_.scratch_bytes(); }

  void run(Context& context, const LossArgs& args) override {
    dispatch_float(args.prediction.dtype(), [&]<class T>() {
      using Term = ElementwiseTerm<T, Label, F>;
      const Term term = term_of<T>(args);
      if (mean_.template run_at_once<T>(context, args, term)) return;
      mean_.template run<T>(context, args, [&](const RowShares<T>& shares, T* terms) {
        for_each_row_column(context, rows_, columns_, StoreTerm<T, Term>{term, shares, terms, columns_});
      });
    });
  }

  bool can_run_with_head() const override { return mean_.can_run_with_head(); }
  void run_with_head(Context& context, const Head& head, const LossArgs& args) override {
    mean_.run_with(context, head, args, term_of<float>(args));
  }

 private:
  template <class T>
  ElementwiseTerm<T, Label, F> term_of(const LossArgs& args) const {
    const ConstTensorView &x = args.prediction, &y = args.label;
    return {f_, x.as<T>(), y.as<Label>(), args.gradient.as<T>(), x.stride(), y.stride(), args.gradient.stride()};
  }

  F f_;
  int64_t rows_, columns_;
  WeightedMean mean_;
};

template <class F, class Label = float>
class ElementwiseLoss : public Loss {
 public:
  void check(const TensorSpec& prediction, const TensorSpec& label) const final {
    require_float(prediction);
    require_same_shape(kind_, prediction, label);
  }
  LabelSpec label(const TensorSpec&) const final { return {.dtype = DTypeOf<Label>::value, .range = range_}; }
  std::unique_ptr<LossPlan> plan(Context&, const LossPlanArgs& args) const final {
    require_dtype(kind_, args.label.spec(), DTypeOf<Label>::value);
    return std::make_unique<ElementwiseLossPlan<F, Label>>(args, f_);
  }

 protected:
  // `kind` names the loss in messages; a literal. Labels lie in `range`.
  ElementwiseLoss(std::string_view kind, const ValueRange& range, F f = {}) : kind_(kind), range_(range), f_(f) {}

 private:
  std::string_view kind_;
  ValueRange range_;
  F f_;
};

// For labels that may be any finite number.
inline constexpr ValueRange kFiniteLabels{.min = -std::numeric_limits<double>::infinity(),
                                          .max = std::numeric_limits<double>::infinity(),
                                          .hint = "drop rows without a label, or give them a default in decode_csv"};

}  // namespace MILLRACE_UNIT
}  // namespace millrace
