#include "millrace/layers/model/model_plan.h"

#include <cstddef>
#include <utility>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "millrace/core/trace.h"
#include "millrace/layers/model/planner.h"

namespace millrace {

struct ModelPlan::Impl {
  PlannedModel model;
  bool leaves_head = false;

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
            .rectified = layer.rectified,
            .saved = layer.saved,
            .scratch = layer.forward_scratch,
            .step = step};
  }

  void forward(Context& context, const uint64_t* step) {
    const size_t count = model.layers.size() - (leaves_head ? 1 : 0);
    for (PlannedLayer& layer : std::span(model.layers).first(count)) {
      const TraceRange range(context.executor().trace(), "forward", layer.name);
      in_layer(layer.name, [&] { layer.plan->forward(context, forward_args(layer, step)); });
    }
  }

  void backward(Context& context, const uint64_t* step, const float* alpha, const TensorView& block) {
    for (PlannedLayer& layer : model.layers) set_parameter_gradients(layer, alpha, block);
    for (size_t i = model.layers.size(); i-- > 0;) {
      PlannedLayer& layer = model.layers[i];
      if (!layer.trained) continue;
      const TraceRange range(context.executor().trace(), "backward", layer.name);
      in_layer(layer.name, [&] {
        layer.plan->backward(context, {.inputs = layer.kept_inputs,
                                       .params = layer.params,
                                       .state = layer.state,
                                       .output = layer.kept_output,
                                       .output_gradient = layer.output_gradient,
                                       .input_gradients = layer.input_gradients,
                                       .parameter_gradients = layer.parameter_gradients,
                                       .input_sums = input_sums(layer),
                                       .saved = layer.saved,
                                       .scratch = layer.backward_scratch,
                                       .step = step});
      });
    }
  }

  // The place for the gradient of the bias of the layer whose rectifier this one does.
  Destination input_sums(const PlannedLayer& layer) const {
    if (layer.rectifies < 0) return {};
    const std::vector<Destination>& gradients = model.layers[static_cast<size_t>(layer.rectifies)].parameter_gradients;
    return gradients.size() > 1 ? gradients[1] : Destination{};
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

std::optional<Head> ModelPlan::head() const {
  const PlannedLayer& last = impl_->model.layers.back();
  // The places of fields are known in each call alone.
  if (!last.trained || last.sources[0] < 0) return std::nullopt;
  return last.plan->head(Impl::forward_args(last, nullptr));
}

void ModelPlan::leave_head() { impl_->leaves_head = true; }

void ModelPlan::forward(Context& context, std::span<const ConstTensorView> inputs, const uint64_t* step) {
  impl_->set_fields(inputs);
  // Inside, small loops of the caller's thread too have the executor's floating-point mode.
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
  for (const PlannedLayer& layer : impl_->model.layers) total += layer.plan->bytes();
  return total;
}

}  // namespace millrace
