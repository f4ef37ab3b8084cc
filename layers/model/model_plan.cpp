#include "millrace/layers/model/model_plan.h"

#include <cstddef>
#include <utility>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "millrace/layers/model/planner.h"

namespace millrace {

struct ModelPlan::Impl {
  PlannedModel model;

  // Gives the views of fields their data.
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
    bool same = inputs.size() == model.fields.size();
    for (size_t i = 0; same && i < inputs.size(); ++i) {
      const ConstTensorView& planned = model.fields[i];
      same = inputs[i].spec() == planned.spec() && inputs[i].row_bytes() == planned.row_bytes() && inputs[i];
    }
    if (!same) throw ShapeError("the fields of this batch are not those that the step was planned for");
  }

  void forward(Context& context, const uint64_t* step) {
    for (PlannedLayer& layer : model.layers) {
      const ScopeName scope(context, layer.name);
      layer.plan->forward(context, {.inputs = layer.inputs,
                                    .params = layer.params,
                                    .state = layer.state,
                                    .output = layer.output,
                                    .saved = layer.saved,
                                    .scratch = layer.forward_scratch,
                                    .step = step});
    }
  }

  void backward(Context& context, const uint64_t* step, const float* alpha, const TensorView& block) {
    for (size_t i = model.layers.size(); i-- > 0;) {
      PlannedLayer& layer = model.layers[i];
      if (!layer.trained) continue;
      set_parameter_gradients(layer, alpha, block);
      const ScopeName scope(context, layer.name);
      layer.plan->backward(context, {.inputs = layer.kept_inputs,
                                     .params = layer.params,
                                     .output = layer.kept_output,
                                     .output_gradient = layer.output_gradient,
                                     .input_gradients = layer.input_gradients,
                                     .parameter_gradients = layer.parameter_gradients,
                                     .saved = layer.saved,
                                     .scratch = layer.backward_scratch,
                                     .step = step});
    }
  }

  void set_parameter_gradients(PlannedLayer& layer, const float* alpha, const TensorView& block) const {
    for (size_t i = 0; i < layer.parameter_gradients.size(); ++i) {
      Destination& gradient = layer.parameter_gradients[i];
      if (model.in_place) {
        gradient.alpha = alpha;
      } else {
        gradient.view = TensorView(static_cast<std::byte*>(block.data()) + layer.gradient_offsets[i],
                                   gradient.view.dtype(), gradient.view.shape());
      }
    }
  }
};

ModelPlan::ModelPlan(Model& model, Context& context, const ModelPlanArgs& args)
    : impl_(new Impl{plan_model(model, context, args)}) {}

ModelPlan::~ModelPlan() = default;

TensorView ModelPlan::output() const { return impl_->model.layers.back().output; }

TensorView ModelPlan::output_gradient() const { return impl_->model.output_gradient; }

void ModelPlan::forward(Context& context, std::span<const ConstTensorView> inputs, const uint64_t* step) {
  impl_->set_fields(inputs);
  // Inside, small loops of the caller's thread too have the executor's floating-point mode.
  context.executor().run([&] { impl_->forward(context, step); });
}

void ModelPlan::backward(Context& context, std::span<const ConstTensorView> inputs, const uint64_t* step,
                         const float* alpha, TensorView gradient_block) {
  if (!output_gradient()) throw ShapeError("backward needs a plan of mode train");
  if (!impl_->model.in_place && gradient_block.spec() != impl_->model.gradient_block) {
    throw ShapeError(cat("the gradient block is ", gradient_block.spec().text(), ", the model's parameter block ",
                         impl_->model.gradient_block.text()));
  }
  impl_->set_fields(inputs);
  context.executor().run([&] { impl_->backward(context, step, alpha, gradient_block); });
}

bool ModelPlan::in_place() const { return impl_->model.in_place; }

size_t ModelPlan::bytes() const {
  size_t total = impl_->model.memory.bytes();
  for (const PlannedLayer& layer : impl_->model.layers) total += layer.plan->bytes();
  return total;
}

}  // namespace millrace
