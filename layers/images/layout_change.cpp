#include "millrace/layers/images/layout_change.h"

#include <algorithm>

#include "millrace/core/sizes.h"
#include "millrace/layers/images/images.h"
#include "millrace/layers/simple_layer.h"

namespace millrace {
namespace {

// Each row is a matrix (lines, length), and becomes its transpose. This runs only on the CPU, where images have another
// order.
template <class T>
void transpose_rows(Context& context, const ConstTensorView& from, int64_t lines, const Target<T>& to) {
  const int64_t length = from.columns() / lines, at_once = std::max<int64_t>(1, kIndexBlock / length);
  const int64_t all = from.rows() * lines;
  context.executor().parallel_for(ceil_div(all, at_once), [&](int64_t block) {
    for (int64_t i = block * at_once; i < std::min(all, (block + 1) * at_once); ++i) {
      const int64_t row = i / lines, line = i % lines;
      const T* const values = from.as<T>() + row * from.stride() + line * length;
      for (int64_t k = 0; k < length; ++k) to.store(row, k * lines + line, values[k]);
    }
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
      dispatch_float(from.dtype(), [&]<class T>() { transpose_rows(context, from, lines, Target<T>(context, to)); });
    }
  }

  bool in_order_;
  int64_t lines_, lines_back_;  // lines of the matrix in forward, and in backward
};

}  // namespace

std::unique_ptr<LayerPlan> plan_layout_change(Context& context, const PlanArgs& args, bool to_images) {
  return std::make_unique<LayoutChange>(context, args.output.shape().row(), to_images);
}

}  // namespace millrace
