#include "millrace/layers/gradients/one_output.h"

#include "millrace/core/hd.h"
#include "millrace/core/kernels/reduce.h"
#include "millrace/core/parallel.h"
#include "millrace/layers/elementwise.h"

namespace millrace {
namespace {

// The bias is a weight more, of an input that is always 1.
template <class T>
struct OneOutputColumns {
  const T* x;
  const T* weight;
  const T* dy;
  int64_t in, x_stride, dy_stride;
  Target<T> dx, dweight, dbias;

  struct Loaded {
    T x, slope;
  };
  MILLRACE_HD Loaded load(int64_t row, int64_t column) const {
    return {column == in ? T(1) : x[row * x_stride + column], dy[row * dy_stride]};
  }
  MILLRACE_HD T term(const Loaded& loaded, int64_t row, int64_t column) const {
    if (column != in && dx.data != nullptr) dx.store(row, column, loaded.slope * weight[column]);
    return loaded.slope * loaded.x;
  }
  MILLRACE_HD void store(int64_t column, T sum) const {
    if (column == in) {
      dbias.store_at(0, sum);
    } else {
      dweight.store_at(column, sum);
    }
  }
};

// As the sums of so many columns.
TensorSpec summed(const TensorSpec& x) { return {Shape{x.shape[0], x.shape.row().elements() + 1}, x.dtype}; }

}  // namespace

size_t one_output_scratch(const TensorSpec& x) { return column_sum_scratch(summed(x)); }

void one_output_gradients(Context& context, const OneOutput& args, void* scratch) {
  const ConstTensorView& x = args.x;
  using T = float;
  const auto target = [&](const Destination& gradient) { return Target<T>(context, gradient); };
  launch_columns<T>(context, x.rows(), x.columns() + (args.dbias ? 1 : 0),
                    OneOutputColumns<T>{x.as<T>(), args.weight.as<T>(), args.dy.as<T>(), x.columns(), x.stride(),
                                        args.dy.stride(), target(args.dx), target(args.dweight), target(args.dbias)},
                    scratch);
}

}  // namespace millrace
