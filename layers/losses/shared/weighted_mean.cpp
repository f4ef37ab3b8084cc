#include "millrace/layers/losses/elementwise_loss.h"

#include "millrace/core/parallel.h"
#include "millrace/core/tensor.h"

namespace millrace {
namespace {

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
  T rows;  // 0: rows are weighted, and loss[1] has the weight already
  MILLRACE_HD void operator()(int64_t) const {
    if (rows != T(0)) {
      loss[1] = rows;
    } else {
      loss[0] = loss[1] != T(0) ? loss[0] / loss[1] : T(0);
    }
  }
};

// Reads a term that was stored before.
template <class T>
struct StoredTerm {
  const T* terms;
  int64_t columns;
  MILLRACE_HD T operator()(const RowShares<T>&, int64_t row, int64_t column) const {
    return terms[row * columns + column];
  }
};

}  // namespace

void WeightedMean::sum_weights(Context& context, const LossArgs& args) const {
  dispatch_float(args.prediction.dtype(), [&]<class T>() {
    // The memory for the terms holds the weights first.
    T* const weights = static_cast<T*>(args.scratch);
    for_each_index(context, rows_, GatherLossWeight<T>{shares<T>(args), weights});
    sum(context, ConstTensorView(weights, DTypeOf<T>::value, Shape{rows_}), static_cast<T*>(args.loss) + 1, 1.0,
        static_cast<std::byte*>(args.scratch) + sum_at_);
  });
}

void WeightedMean::finish(Context& context, const LossArgs& args) const {
  dispatch_float(args.prediction.dtype(), [&]<class T>() {
    if (run_at_once<T>(context, args, StoredTerm<T>{static_cast<const T*>(args.scratch), terms_}, weighted_)) return;
    T* const loss = static_cast<T*>(args.loss);
    sum(context, ConstTensorView(args.scratch, DTypeOf<T>::value, Shape{rows_ * terms_}), loss, 1.0 / count(),
        static_cast<std::byte*>(args.scratch) + sum_at_);
    for_each_index(context, 1, FinishMean<T>{loss, weighted_ ? T(0) : static_cast<T>(rows_)});
  });
}

}  // namespace millrace
