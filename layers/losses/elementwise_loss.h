// ElementwiseLoss: a loss whose mean is over the rows and over the columns of a row, each value by itself.
//
//   struct Squares {                                            // a named functor, never a lambda
//     template <class T> MILLRACE_HD LossTerm<T> operator()(T x, T y) const { return {(x - y) * (x - y), 2 * (x - y)};
//     }
//   };
//   class Mse final : public ElementwiseLoss<Squares> {..};
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>

#include "millrace/core/dispatch.h"
#include "millrace/core/parallel.h"
#include "millrace/layers/losses/shared/head_loss_plan.h"
#include "millrace/layers/losses/shared/weighted_mean.h"
#include "millrace/layers/shape_checks.h"

namespace millrace {

// Like the loops of parallel.h, these templates have another name in CUDA units than in C++ ones.
inline namespace MILLRACE_UNIT {

template <class T>
struct LossTerm {
  T value;
  T slope;  // by the prediction
};

template <class T, class Label, class F>
struct ElementwiseTerm {
  F f;
  const T* x;
  const Label* y;
  T* gradient;  // null when nobody needs it
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

// Label is float, or int32_t where only whole numbers make sense.
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

// Of labels that may be any number.
inline constexpr ValueRange kFiniteLabels{.min = -std::numeric_limits<double>::infinity(),
                                          .max = std::numeric_limits<double>::infinity(),
                                          .hint = "drop rows without a label, or give them a default in decode_csv"};

}  // namespace MILLRACE_UNIT
}  // namespace millrace
