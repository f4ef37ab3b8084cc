#include "millrace/layers/model/planner.h"

#include <algorithm>
#include <utility>

#include "millrace/layers/images/images.h"
#include "millrace/layers/images/layout_change.h"
#include "millrace/layers/model/arena.h"
#include "millrace/layers/model/fusions/head_fusion.h"

namespace millrace {

namespace {

void check_fields(const Model& model, std::span<const TensorView> inputs) {
  const std::vector<NamedSpec>& fields = model.fields();
  if (inputs.size() != fields.size()) {
    throw ShapeError(
        cat("the model reads ", count_of(static_cast<int64_t>(fields.size()), "field"), ", got ", inputs.size()));
  }
  const int64_t batch = inputs.empty() ? 0 : std::max<int64_t>(inputs[0].rows(), 1);
  for (size_t i = 0; i < fields.size(); ++i) {
    const TensorSpec expected{fields[i].spec.shape.with_batch(batch), fields[i].spec.dtype};
    if (inputs[i].spec() == expected) continue;
    throw ShapeError(cat("the field ", fields[i].name, " of the batch is ", inputs[i].spec().text(),
                         ", the model expects ", expected.text()));
  }
}

// Makes a PlannedModel. run() shows the order of the steps.
class Planner {
 public:
  // `trained` is the same model if it may change, else null. REQUIRES: not null in mode train.
  Planner(const Model& model, Model* trained, Context& context, const ModelPlanArgs& args)
      : model_(model), trained_(trained), context_(context), args_(args) {}

  PlannedModel run() {
    check_fields(model_, args_.inputs);
    out_.fields.assign(args_.inputs.begin(), args_.inputs.end());
    for (const NamedSpec& field : model_.fields()) out_.field_names.push_back(field.name);
    out_.gradient_target = args_.gradient_target;
    out_.gradient_block = model_.parameter_block().spec();
    for (const Model::Node& node : model_.nodes()) describe_layer(node);
    // The loss and the metrics read plain rows.
    laid_out(last_step(), false);
    if (fuses()) fuse_last_two();
    count_ = static_cast<int>(out_.layers.size());
    // In the order of backward, so that each layer learns whether it is the first to write a gradient.
    has_gradient_.resize(out_.layers.size());
    for (int i = count_ - 1; i >= 0; --i) plan_layer(i);
    place_values();
    for (int i = 0; i < count_; ++i) connect_layer(i);
    if (training()) out_.output_gradient = out_.layers.back().output_gradient;
    return std::move(out_);
  }

 private:
  // The numbers of a layer's values in the arena.
  struct Places {
    size_t output = 0, output_gradient = 0, saved = 0, forward_scratch = 0, backward_scratch = 0;
  };

  bool training() const { return args_.mode == Mode::train; }
  PlannedLayer& layer(int index) { return out_.layers[static_cast<size_t>(index)]; }
  int last_step() const { return static_cast<int>(out_.layers.size()) - 1; }

  int forward_time(int index) const { return index; }
  int loss_time() const { return count_; }
  int backward_time(int index) const { return 2 * count_ - index; }
  int end_time() const { return 2 * count_ + 1; }

  void describe_layer(const Model::Node& node) {
    PlannedLayer planned;
    planned.name = node.name;
    planned.place = node.layer->origin().place;
    planned.nodes = {&node};
    std::vector<int> inputs;
    for (const int input : node.inputs) inputs.push_back(input >= 0 ? steps_[static_cast<size_t>(input)] : input);
    const LayoutUse use = in_layer(planned, [&] { return node.layer->layout_use(); });
    const auto lies_as_image = [&](int source) { return source >= 0 && layer(source).as_images; };
    const bool images = use == LayoutUse::images ||
                        (use == LayoutUse::same && std::any_of(inputs.begin(), inputs.end(), lies_as_image));
    planned.trained = training() && node.parameter_count > 0;
    for (const int input : inputs) {
      planned.sources.push_back(laid_out(input, images));
      planned.trained |= input >= 0 && layer(input).trained;
    }
    const TensorSpec& row = node.output;
    if (planned.trained && row.dtype != model_.dtype()) {
      throw ShapeError(cat("layer ", planned.name, ": its output is ", row.text(),
                           ", and no gradient passes whole numbers to the parameters before it"));
    }
    set_output(planned, row, images);
    steps_.push_back(static_cast<int>(out_.layers.size()));
    out_.layers.push_back(std::move(planned));
  }

  void set_output(PlannedLayer& planned, const TensorSpec& row, bool images) {
    planned.as_images = images && is_image(row.shape);
    planned.output = TensorView(nullptr, row.dtype, row.shape.with_batch(args_.inputs[0].rows()),
                                planned.as_images ? row.bytes() : aligned_bytes(row.bytes()));
  }

  const TensorView& view_of(int source) {
    return source >= 0 ? layer(source).output : out_.fields[static_cast<size_t>(-1 - source)];
  }

  // The source whose values are those of `source`, laid out as images or as plain rows.
  int laid_out(int source, bool images) {
    const TensorView& view = view_of(source);
    const Shape row = view.shape().row();
    if (!is_image(row)) return source;
    if ((source >= 0 && layer(source).as_images) == images) return source;
    // The values may have both layouts at once.
    const bool fits = images ? view.contiguous() : view.row_bytes() % kRowAlignment == 0;
    if (fits && in_order(context_.device(), row)) return source;
    for (size_t i = 0; i < out_.layers.size(); ++i) {
      const PlannedLayer& known = out_.layers[i];
      if (known.nodes.empty() && known.sources[0] == source && known.as_images == images) return static_cast<int>(i);
    }
    return change_layout(source, images);
  }

  int change_layout(int source, bool images) {
    const TensorView& view = view_of(source);
    PlannedLayer planned;
    const std::string& name = source >= 0 ? layer(source).name : out_.field_names[static_cast<size_t>(-1 - source)];
    planned.name = cat(name, images ? " as images" : " as rows");
    planned.sources = {source};
    planned.trained = source >= 0 && layer(source).trained;
    set_output(planned, {view.shape().row(), view.dtype()}, images);
    out_.layers.push_back(std::move(planned));
    return last_step();
  }

  // Whether to try fusions. They only help on devices.
  bool fuses() const { return training() && !context_.device().is_cpu() && model_.dtype() == DType::f32; }

  void fuse_last_two() {
    const int index = last_step();
    if (index == 0 || layer(index).sources != std::vector<int>{index - 1}) return;
    PlannedLayer &before = layer(index - 1), &last = layer(index);
    if (before.nodes.empty() || last.nodes.empty()) return;
    if (!fuses_with_head(*before.nodes[0]->layer, *last.nodes[0]->layer)) return;
    before.name = cat(before.name, " and ", last.name);
    before.nodes.push_back(last.nodes[0]);
    before.output = last.output;
    out_.layers.pop_back();
  }

  void plan_layer(int index) {
    PlannedLayer& planned = layer(index);
    std::vector<TensorView> inputs;
    std::vector<GradientUse> uses;
    for (const int source : planned.sources) {
      inputs.push_back(view_of(source));
      uses.push_back(use_of_gradient(planned, source));
      planned.input_gradients.emplace_back().beta = uses.back() == GradientUse::add ? 1.0F : 0.0F;
    }
    PlanArgs args;
    args.inputs = inputs;
    args.output = planned.output;
    args.mode = args_.mode;
    args.rows_alone = !training();
    args.input_gradients = uses;
    if (training()) args.parameter_gradients = use_of_parameter_gradients();
    args.seed = model_.seed();
    args.name = planned.name;
    in_layer(planned, [&] {
      planned.plan = not_null(make_plan(planned, args), "plan()");
      planned.keeps_inputs = planned.trained && planned.plan->backward_reads_inputs();
      planned.keeps_output = planned.trained && planned.plan->backward_reads_output();
    });
  }

  std::unique_ptr<LayerPlan> make_plan(const PlannedLayer& planned, const PlanArgs& args) {
    if (planned.nodes.empty()) return plan_layout_change(context_, args, planned.as_images);
    std::vector<const Layer*> layers;
    for (const Model::Node* node : planned.nodes) layers.push_back(node->layer.get());
    std::unique_ptr<LayerPlan> fused = fuses() ? plan_head(context_, layers, args) : nullptr;
    return fused ? std::move(fused) : layers[0]->plan(context_, args);
  }

  GradientUse use_of_parameter_gradients() const {
    return args_.gradient_target == GradientTarget::block_write ? GradientUse::write : GradientUse::add;
  }

  GradientUse use_of_gradient(const PlannedLayer& planned, int source) {
    if (!planned.trained || source < 0 || !layer(source).trained) return GradientUse::none;
    const bool written = has_gradient_[static_cast<size_t>(source)];
    has_gradient_[static_cast<size_t>(source)] = true;
    return written ? GradientUse::add : GradientUse::write;
  }

  void place_values() {
    Arena arena;
    for (int i = 0; i < count_; ++i) {
      places_.push_back(in_layer(layer(i), [&] { return declare_values(i, arena); }));
    }
    arena.place(args_.share_memory);
    out_.memory = Memory(context_.device(), arena.bytes());
    const auto data = [&](size_t value) { return static_cast<std::byte*>(out_.memory.data()) + arena.offset(value); };
    for (int i = 0; i < count_; ++i) {
      PlannedLayer& planned = layer(i);
      const Places& places = places_[static_cast<size_t>(i)];
      planned.saved = data(places.saved);
      planned.forward_scratch = data(places.forward_scratch);
      planned.output = planned.output.at(data(places.output));
      if (!keeps_gradient(i)) continue;
      planned.backward_scratch = data(places.backward_scratch);
      planned.output_gradient = planned.output.at(data(places.output_gradient));
    }
  }

  // The last layer's gradient has a place even if nothing is trained, because the loss writes it.
  bool keeps_gradient(int index) { return layer(index).trained || (training() && index == count_ - 1); }

  // Adds the layer's values, each with its lifetime.
  Places declare_values(int index, Arena& arena) {
    const PlannedLayer& planned = layer(index);
    const int now = forward_time(index), back = backward_time(index);
    const bool last = index == count_ - 1;
    int output_end = last ? end_time() : now;
    int gradient_begin = last ? loss_time() : back;
    for (int i = index + 1; i < count_; ++i) {
      const PlannedLayer& reader = layer(i);
      if (std::find(reader.sources.begin(), reader.sources.end(), index) == reader.sources.end()) continue;
      output_end = std::max(output_end, forward_time(i));
      if (reader.keeps_inputs) output_end = std::max(output_end, backward_time(i));
      if (reader.trained) gradient_begin = std::min(gradient_begin, backward_time(i));
    }
    if (planned.keeps_output) output_end = std::max(output_end, back);

    const size_t bytes = planned.output.bytes();
    // Saved values and scratch are mostly in proportion to the output, so all have one weight.
    size_t weight = planned.output.row_bytes();
    for (const Model::Node* node : planned.nodes) weight = std::max(weight, node->output.bytes());
    const auto add = [&](size_t size, int first, int end) {
      return arena.add({.bytes = size, .weight = weight, .first = first, .last = end});
    };
    Places places;
    places.output = add(bytes, now, output_end);
    places.saved = add(planned.plan->saved_bytes(), now, planned.trained ? back : now);
    places.forward_scratch = add(planned.plan->scratch_bytes(), now, now);
    if (!keeps_gradient(index)) return places;
    places.backward_scratch = add(planned.plan->scratch_bytes(), back, back);
    places.output_gradient = add(bytes, gradient_begin, back);
    return places;
  }

  void connect_layer(int index) {
    PlannedLayer& planned = layer(index);
    for (size_t i = 0; i < planned.sources.size(); ++i) {
      const int source = planned.sources[i];
      planned.inputs.push_back(view_of(source));
      if (planned.trained && source >= 0 && layer(source).trained) {
        planned.input_gradients[i].view = layer(source).output_gradient;
      }
    }
    for (const Model::Node* node : planned.nodes) connect_parameters(planned, *node);
    planned.kept_inputs.assign(planned.inputs.size(), {});
    if (planned.keeps_inputs) planned.kept_inputs = planned.inputs;
    if (planned.keeps_output) planned.kept_output = planned.output;
  }

  void connect_parameters(PlannedLayer& planned, const Model::Node& from) {
    for (size_t i = 0; i < from.parameter_count; ++i) {
      planned.params.push_back(model_.parameter(from.first_parameter + i));
    }
    for (size_t i = 0; i < from.state_count; ++i) planned.state.push_back(model_.state(from.first_state + i));
    if (training()) connect_for_training(planned, from);
  }

  // Adds what a pass in mode train may change.
  void connect_for_training(PlannedLayer& planned, const Model::Node& from) {
    for (size_t i = from.first_parameter; i < from.first_parameter + from.parameter_count; ++i) {
      planned.parameter_gradients.push_back(
          {.view = trained_->parameter(i), .beta = use_of_parameter_gradients() == GradientUse::add ? 1.0F : 0.0F});
      planned.gradient_offsets.push_back(model_.parameters()[i].offset);
    }
    for (size_t i = from.first_state; i < from.first_state + from.state_count; ++i) {
      planned.mutable_state.push_back(trained_->state(i));
    }
  }

  const Model& model_;
  Model* const trained_;
  Context& context_;
  const ModelPlanArgs& args_;
  std::vector<int> steps_;          // for each node of the model, its planned layer
  int count_ = 0;                   // of planned layers
  std::vector<bool> has_gradient_;  // whether a planned layer writes the gradient of this output
  std::vector<Places> places_;
  PlannedModel out_;
};

}  // namespace

PlannedModel plan_model(Model& model, Context& context, const ModelPlanArgs& args) {
  return Planner(model, &model, context, args).run();
}

PlannedModel plan_model(const Model& model, Context& context, const ModelPlanArgs& args) {
  if (args.mode == Mode::train) throw InternalError("a plan of mode train needs a model that may change");
  return Planner(model, nullptr, context, args).run();
}

}  // namespace millrace
