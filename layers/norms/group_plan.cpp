#include "millrace/layers/norms/group_plan.h"

#include "millrace/core/kernels/reduce.h"
#include "millrace/core/parallel.h"
#include "millrace/layers/norms/group_bodies.h"

namespace millrace {
namespace {

class GroupPlan final : public LayerPlan {
 public:
  GroupPlan(const PlanArgs& args, const GroupNormShape& shape)
      : shape_(shape),
        items_(args.output.rows() * shape.items),
        train_(args.mode == Mode::train),
        by_item_{Shape{items_, shape.channels}, args.output.dtype()} {}

  size_t saved_bytes() const override {
    return train_ ? static_cast<size_t>(2 * parts()) * size_of(by_item_.dtype) : 0;
  }
  size_t scratch_bytes() const override {
    return train_ ? 2 * aligned_bytes(by_item_.bytes()) + column_sum_scratch(by_item_) : 0;
  }
  bool backward_reads_output() const override { return false; }

  void forward(Context& context, const ForwardArgs& args) override {
    dispatch_float(by_item_.dtype, [&]<class T>() {
      for_each_row_by_lanes(
          context, parts(), part_size(),
          Normalise<T>{shape_, args.inputs[0].as<T>(), args.inputs[0].stride(), args.params[0].as<T>(),
                       args.params[1].as<T>(), Target<T>(context, {.view = args.output}),
                       train_ ? static_cast<T*>(args.saved) : nullptr});
    });
  }

  void backward(Context& context, const BackwardArgs& args) override {
    const ConstTensorView &x = args.inputs[0], &dy = args.output_gradient;
    dispatch_float(by_item_.dtype, [&]<class T>() {
      const T* const moments = static_cast<const T*>(args.saved);
      if (const Destination& dx = args.input_gradients[0]) {
        for_each_row_by_lanes(context, parts(), part_size(),
                              NormaliseGradient<T>{shape_, x.as<T>(), dy.as<T>(), x.stride(), dy.stride(),
                                                   args.params[0].as<T>(), moments, Target<T>(context, dx)});
      }
      auto* const weight = static_cast<std::byte*>(args.scratch);
      std::byte* const bias = weight + aligned_bytes(by_item_.bytes());
      std::byte* const scratch = bias + aligned_bytes(by_item_.bytes());
      const ParameterGradients<T> by_item{shape_,
                                          x.as<T>(),
                                          dy.as<T>(),
                                          x.stride(),
                                          dy.stride(),
                                          moments,
                                          reinterpret_cast<T*>(weight),
                                          reinterpret_cast<T*>(bias)};
      if (shape_.pixels == 1) {
        for_each_row_column(context, items_, shape_.channels, by_item);
      } else {
        for_each_row_by_lanes(context, items_ * shape_.channels, shape_.pixels, by_item);
      }
      const void* const sums[] = {weight, bias};
      for (size_t i = 0; i < 2; ++i) {
        const ConstTensorView view(sums[i], by_item_.dtype, by_item_.shape);
        if (args.parameter_gradients[i]) column_sum(context, view, args.parameter_gradients[i], scratch);
      }
    });
  }

 private:
  int64_t parts() const { return items_ * shape_.groups; }
  int64_t part_size() const { return shape_.size() * shape_.pixels; }

  GroupNormShape shape_;
  int64_t items_;  // in the batch
  bool train_;
  TensorSpec by_item_;  // each item's part of a parameter's gradient
};

}  // namespace

std::unique_ptr<LayerPlan> plan_group_norm(const PlanArgs& args, const GroupNormShape& shape) {
  return std::make_unique<GroupPlan>(args, shape);
}

}  // namespace millrace
