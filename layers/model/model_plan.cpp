#include "millrace/layers/model/model_plan.h"

#include <cstddef>
#include <utility>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "millrace/core/trace.h"
#include "millrace/layers/model/fusions/head_fusion.h"
#include "millrace/layers/model/planner.h"

namespace millrace {

struct ModelPlan::Impl {
  PlannedModel model;

  void set_fields(std::span<const ConstTensorView> inputs) {
    check(inputs);
    for (PlannedLayer& layer : model.layers) {
      for (size_t i = 0; i < layer.sources.size(); ++i) {
        if (layer.sources[i] >= 0) continue;
        const ConstTensorView& field = inputs[static_cast<size_t>(-1 - layer.sources[i])];
        layer.inputs[i] = field;
        if (layer.keeps_inputs) layer.kept_inputs[i] = field;
      }
    }
  }

  void check(std::span<const ConstTensorView> inputs) const {
    if (inputs.size() != model.fields.size()) {
      throw ShapeError(
          cat("expected ", count_of(static_cast<int64_t>(model.fields.size()), "field"), ", got ", inputs.size()));
    }
    for (size_t i = 0; i < inputs.size(); ++i) {
      const ConstTensorView& planned = model.fields[i];
      if (inputs[i].spec() != planned.spec() || inputs[i].row_bytes() != planned.row_bytes()) {
        throw ShapeError(cat("the field ", model.field_names[i], ": expected ", rows_text(planned), " as planned, got ",
                             rows_text(inputs[i])));
      }
      if (!inputs[i]) throw ShapeError(cat("the field ", model.field_names[i], ": expected values, got a null view"));
    }
  }

  static std::string rows_text(const ConstTensorView& view) {
    return cat(view.spec().text(), " in rows of ", view.row_bytes(), " bytes");
  }

  static ForwardArgs forward_args(const PlannedLayer& layer, const uint64_t* step) {
    return {.inputs = layer.inputs,
            .params = layer.params,
            .state = layer.state,
            .mutable_state = layer.mutable_state,
            .output = layer.output,
            .saved = layer.saved,
            .scratch = layer.forward_scratch,
            .step = step};
  }

  void forward(Context& context, const uint64_t* step) {
    for (PlannedLayer& layer : model.layers) {
      const TraceRange range(context.executor().trace(), "forward", layer.name);
      in_layer(layer, [&] { layer.plan->forward(context, forward_args(layer, step)); });
    }
  }

  void backward(Context& context, const uint64_t* step, const float* alpha, const TensorView& block) {
    for (PlannedLayer& layer : model.layers) set_parameter_gradients(layer, alpha, block);
    for (size_t i = model.layers.size(); i-- > 0;) {
      PlannedLayer& layer = model.layers[i];
      if (!layer.trained) continue;
      const TraceRange range(context.executor().trace(), "backward", layer.name);
      in_layer(layer, [&] {
        layer.plan->backward(context, {.inputs = layer.kept_inputs,
                                       .params = layer.params,
                                       .state = layer.state,
                                       .output = layer.kept_output,
                                       .output_gradient = layer.output_gradient,
                                       .input_gradients = layer.input_gradients,
                                       .parameter_gradients = layer.parameter_gradients,
                                       .saved = layer.saved,
                                       .scratch = layer.backward_scratch,
                                       .step = step});
      });
    }
  }

  void set_parameter_gradients(PlannedLayer& layer, const float* alpha, const TensorView& block) const {
    for (size_t i = 0; i < layer.parameter_gradients.size(); ++i) {
      Destination& gradient = layer.parameter_gradients[i];
      gradient.alpha = alpha;
      if (model.gradient_target == GradientTarget::parameters) continue;
      gradient.view = TensorView(static_cast<std::byte*>(block.data()) + layer.gradient_offsets[i],
                                 gradient.view.dtype(), gradient.view.shape());
    }
  }
};

ModelPlan::ModelPlan(Model& model, Context& context, const ModelPlanArgs& args)
    : impl_(new Impl{plan_model(model, context, args)}) {}

ModelPlan::ModelPlan(const Model& model, Context& context, const ModelPlanArgs& args)
    : impl_(new Impl{plan_model(model, context, args)}) {}

ModelPlan::~ModelPlan() = default;

TensorView ModelPlan::output() const { return impl_->model.layers.back().output; }

TensorView ModelPlan::output_gradient() const { return impl_->model.output_gradient; }

std::unique_ptr<LossPlan> ModelPlan::fuse(Context& context, std::unique_ptr<LossPlan> loss) {
  const PlannedLayer& last = impl_->model.layers.back();
  return fuse_loss(context, *last.plan, Impl::forward_args(last, nullptr), std::move(loss));
}

void ModelPlan::forward(Context& context, std::span<const ConstTensorView> inputs, const uint64_t* step) {
  impl_->set_fields(inputs);
  // Inside run(), small loops on the caller's thread also have the executor's floating-point mode.
  context.executor().run([&] { impl_->forward(context, step); });
}

void ModelPlan::backward(Context& context, std::span<const ConstTensorView> inputs, const uint64_t* step,
                         const float* alpha, TensorView gradient_block) {
  if (!output_gradient()) throw ShapeError("backward: expected a plan of mode train, got one of mode predict");
  if (in_place()) {
    if (alpha == nullptr) throw InternalError("an update of the parameters needs an alpha");
  } else if (gradient_block.spec() != impl_->model.gradient_block) {
    throw ShapeError(cat("the gradient block: expected ", impl_->model.gradient_block.text(),
                         " as the model's parameters, got ", gradient_block.spec().text()));
  }
  impl_->set_fields(inputs);
  context.executor().run([&] { impl_->backward(context, step, alpha, gradient_block); });
}

bool ModelPlan::in_place() const { return impl_->model.gradient_target == GradientTarget::parameters; }

size_t ModelPlan::bytes() const {
  size_t total = impl_->model.memory.bytes();
  for (const PlannedLayer& layer : impl_->model.layers) {
    total += in_layer(layer, [&] { return layer.plan->bytes(); });
  }
  return total;
}

}  // namespace millrace
