// concat: inputs joined along an axis; their gradients are cut from the output's.
#include <vector>

#include "millrace/layers/catalog.h"
#include "millrace/layers/onnx_layer.h"
#include "millrace/layers/simple_layer.h"

namespace millrace {
namespace {

// A row consists of `runs` runs of neighbouring values: a run is the axis and the axes after it. A run of the output is
// the runs of the inputs, one after another. This copies the first values of each run of `from`; index i counts the
// runs of all rows.
template <class T>
struct CopyRuns {
  const T* from;
  int64_t from_stride, from_length;
  Target<T> to;
  int64_t to_length, runs;
  MILLRACE_HD void operator()(int64_t i, int64_t k) const {
    const int64_t row = i / runs, run = i % runs;
    to.store(row, run * to_length + k, from[row * from_stride + run * from_length + k]);
  }
};

class ConcatPlan final : public LayerPlan {
 public:
  // `axis` is an axis of the batch.
  ConcatPlan(const PlanArgs& args, int axis) : batch_(args.output.rows()), length_(values_from(axis, args.output)) {
    for (int i = 1; i < axis; ++i) runs_ *= args.output.shape()[i];
    for (const TensorView& input : args.inputs) lengths_.push_back(values_from(axis, input));
  }

  bool backward_reads_inputs() const override { return false; }
  bool backward_reads_output() const override { return false; }

  void forward(Context& context, const ForwardArgs& args) override {
    dispatch_float(args.output.dtype(), [&]<class T>() {
      Target<T> y(context, {.view = args.output});
      for (size_t i = 0; i < lengths_.size(); ++i) {
        const ConstTensorView& x = args.inputs[i];
        for_each_row_column(context, batch_ * runs_, lengths_[i],
                            CopyRuns<T>{x.as<T>(), x.stride(), lengths_[i], y, length_, runs_});
        y.data += lengths_[i];
      }
    });
  }
  void backward(Context& context, const BackwardArgs& args) override {
    dispatch_float(args.output_gradient.dtype(), [&]<class T>() {
      const T* dy = args.output_gradient.as<T>();
      for (size_t i = 0; i < lengths_.size(); ++i) {
        if (const Destination& dx = args.input_gradients[i]) {
          for_each_row_column(
              context, batch_ * runs_, lengths_[i],
              CopyRuns<T>{dy, args.output_gradient.stride(), length_, Target<T>(context, dx), lengths_[i], runs_});
        }
        dy += lengths_[i];
      }
    });
  }

 private:
  static int64_t values_from(int axis, const TensorView& batch) {
    int64_t values = 1;
    for (int i = axis; i < batch.shape().rank(); ++i) values *= batch.shape()[i];
    return values;
  }

  int64_t batch_, runs_ = 1;
  int64_t length_;                // of a run of the output
  std::vector<int64_t> lengths_;  // of a run of each input
};

class Concat final : public Layer {
 public:
  struct Options {
    int64_t axis = 0;
    void declare(OptionReader& o) {
      o.optional("axis", axis, "axis of a row, without the batch, from 0; -1 is the last");
    }
  };
  static constexpr std::string_view kDoc = "two or more inputs joined along an axis; their other axes are equal";

  explicit Concat(const Options& options) : axis_(options.axis) {}

  int min_inputs() const override { return 2; }
  int max_inputs() const override { return -1; }

  TensorSpec build(std::span<const TensorSpec> inputs, ParamBuilder&) override {
    const Shape& first = inputs[0].shape;
    if (axis_ < -first.rank() || axis_ >= first.rank()) {
      throw ShapeError(cat("expected rows with an axis ", axis_, ", got ", inputs[0].text()));
    }
    const int axis = axis_of(first);
    std::vector<int64_t> sizes;
    for (int i = 0; i < first.rank(); ++i) sizes.push_back(first[i]);
    for (size_t i = 1; i < inputs.size(); ++i) {
      if (!fits(inputs[i].shape, first, axis)) {
        throw ShapeError(cat("expected inputs that differ along axis ", axis, " only, got ", inputs[0].text(), " and ",
                             inputs[i].text()));
      }
      sizes[static_cast<size_t>(axis)] += inputs[i].shape[axis];
    }
    return {Shape(sizes), inputs[0].dtype};
  }
  std::unique_ptr<LayerPlan> plan(Context&, const PlanArgs& args) const override {
    return std::make_unique<ConcatPlan>(args, 1 + axis_of(args.output.shape().row()));
  }
  OnnxValue to_onnx(const OnnxLayer& layer) const override {
    return layer.graph.add("Concat", std::vector(layer.inputs.begin(), layer.inputs.end()),
                           {{"axis", int64_t{1 + axis_of(layer.output.shape)}}});
  }

 private:
  int axis_of(const Shape& row) const { return static_cast<int>(axis_ < 0 ? axis_ + row.rank() : axis_); }

  static bool fits(const Shape& shape, const Shape& first, int axis) {
    bool equal = shape.rank() == first.rank();
    for (int i = 0; equal && i < first.rank(); ++i) equal = i == axis || shape[i] == first[i];
    return equal;
  }

  int64_t axis_;
};

}  // namespace
}  // namespace millrace

MILLRACE_REGISTER_LAYER(concat, Concat);
