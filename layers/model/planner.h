// The planner of ModelPlan: decides what backward keeps and writes, and lays all values out in one arena.
//
// If a layer takes images in another layout than the layer before it gives, a step between the two changes the layout.
// If neighbours have one plan together (fusions/), they are one step.
// A plan's time runs through the forward passes, the loss, and the backward passes in reverse. A value may share memory
// with every other value that does not live at the same time. The model's output lives to the end, for metrics.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "millrace/core/context.h"
#include "millrace/core/errors.h"
#include "millrace/layers/model/in_layer.h"
#include "millrace/layers/model/model.h"
#include "millrace/layers/model/model_plan.h"

namespace millrace {

// One step: a layer, several layers with one plan, or a change of layout, with all that its calls need. Views of fields
// get their data in each call, all other views when the model is planned.
struct PlannedLayer {
  std::string name;
  Place place;                            // of the layer in the configuration
  std::vector<const Model::Node*> nodes;  // empty: a change of layout
  std::unique_ptr<LayerPlan> plan;
  std::vector<int> sources;                         // >= 0: index of a planned layer; < 0: field -1 - i
  bool as_images = false;                           // the layout of the output
  bool trained = false;                             // backward runs: this layer or one that feeds it has parameters
  bool keeps_inputs = false, keeps_output = false;  // for backward

  std::vector<ConstTensorView> inputs;
  std::vector<ConstTensorView> kept_inputs;  // what backward sees: the inputs or null views
  std::vector<ConstTensorView> params;
  std::vector<ConstTensorView> state;
  std::vector<TensorView> mutable_state;  // the same memory; empty in mode predict
  TensorView output;
  ConstTensorView kept_output;  // what backward sees: the output or a null view
  TensorView output_gradient;
  std::vector<Destination> input_gradients;
  std::vector<Destination> parameter_gradients;  // each call gives alpha and, with a block, the data
  std::vector<size_t> gradient_offsets;          // where the parameters' gradients lie in the block
  void* saved = nullptr;
  void* forward_scratch = nullptr;
  void* backward_scratch = nullptr;
};

struct PlannedModel {
  std::vector<PlannedLayer> layers;  // in the order of forward
  std::vector<TensorView> fields;    // as planned; no data
  std::vector<std::string> field_names;
  TensorView output_gradient;  // null in mode predict
  Memory memory;
  TensorSpec gradient_block;  // the dtype and shape that a block must have
  GradientTarget gradient_target = GradientTarget::block_write;
};

template <class F>
decltype(auto) in_layer(const PlannedLayer& planned, const F& call) {
  return in_layer(planned.name, planned.place, call);
}

// Throws ShapeError if args.inputs are not the model's fields; a layer's errors name the layer. A const model can only
// be planned in mode predict; for mode train it throws InternalError.
PlannedModel plan_model(Model& model, Context& context, const ModelPlanArgs& args);
PlannedModel plan_model(const Model& model, Context& context, const ModelPlanArgs& args);

}  // namespace millrace
