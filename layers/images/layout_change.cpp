#include "millrace/layers/images/layout_change.h"

#include "millrace/layers/elementwise.h"
#include "millrace/layers/for_each_row.h"
#include "millrace/layers/images/images.h"

namespace millrace {
namespace {

// Line i of a batch is one of `lines` lines of row i / lines: `length` values, which become a column there. So a matrix
// (lines, length) in each row becomes its transpose.
template <class T>
struct Transpose {
  const T* from;
  int64_t stride, lines, length;
  Target<T> to;

  MILLRACE_HD void operator()(int64_t i) const {
    const int64_t row = i / lines, line = i % lines;
    const T* const values = from + row * stride + line * length;
    for (int64_t k = 0; k < length; ++k) to.store(row, k * lines + line, values[k]);
  }
};

void transpose_rows(Context& context, const ConstTensorView& from, int64_t lines, const Destination& to) {
  const int64_t length = from.columns() / lines;
  dispatch_float(from.dtype(), [&]<class T>() {
    for_each_row(context, from.rows() * lines, length,
                 Transpose<T>{from.as<T>(), from.stride(), lines, length, Target<T>(context, to)});
  });
}

class LayoutChange final : public LayerPlan {
 public:
  LayoutChange(Context& context, const Shape& row, bool to_images)
      : in_order_(in_order(context.device(), row)),
        lines_(to_images ? row[0] : row[1] * row[2]),
        lines_back_(row.elements() / lines_) {}

  bool backward_reads_inputs() const override { return false; }
  bool backward_reads_output() const override { return false; }

  void forward(Context& context, const ForwardArgs& args) override {
    change(context, args.inputs[0], lines_, {.view = args.output});
  }
  void backward(Context& context, const BackwardArgs& args) override {
    if (args.input_gradients[0]) change(context, args.output_gradient, lines_back_, args.input_gradients[0]);
  }

 private:
  void change(Context& context, const ConstTensorView& from, int64_t lines, const Destination& to) const {
    if (in_order_) {
      copy_elements(context, from, to);
    } else {
      transpose_rows(context, from, lines, to);
    }
  }

  bool in_order_;
  int64_t lines_, lines_back_;  // of the matrix that forward and backward transpose
};

}  // namespace

std::unique_ptr<LayerPlan> plan_layout_change(Context& context, const PlanArgs& args, bool to_images) {
  return std::make_unique<LayoutChange>(context, args.output.shape().row(), to_images);
}

}  // namespace millrace
