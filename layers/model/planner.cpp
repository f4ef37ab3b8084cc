#include "millrace/layers/model/planner.h"

#include <algorithm>
#include <utility>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "millrace/layers/model/arena.h"

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

// Makes a PlannedModel; run() is the order of its steps.
class Planner {
 public:
  // `trained` is the same model where it may change, else null. REQUIRES: not null in mode train.
  Planner(const Model& model, Model* trained, Context& context, const ModelPlanArgs& args)
      : model_(model),
        trained_(trained),
        context_(context),
        args_(args),
        count_(static_cast<int>(model.nodes().size())) {}

  PlannedModel run() {
    check_fields(model_, args_.inputs);
    out_.fields.assign(args_.inputs.begin(), args_.inputs.end());
    for (const NamedSpec& field : model_.fields()) out_.field_names.push_back(field.name);
    out_.gradient_target = args_.gradient_target;
    out_.gradient_block = model_.parameter_block().spec();
    describe_layers();
    // In the order of backward, so that each layer learns whether it is the first to write a gradient.
    has_gradient_.resize(out_.layers.size());
    for (int i = count_ - 1; i >= 0; --i) plan_layer(i);
    place_values();
    for (int i = 0; i < count_; ++i) connect_layer(i);
    if (training()) out_.output_gradient = out_.layers.back().output_gradient;
    return std::move(out_);
  }

 private:
  // Where a layer's values lie in the arena.
  struct Places {
    size_t output = 0, output_gradient = 0, saved = 0, forward_scratch = 0, backward_scratch = 0;
  };

  bool training() const { return args_.mode == Mode::train; }
  PlannedLayer& layer(int index) { return out_.layers[static_cast<size_t>(index)]; }
  const Model::Node& node(int index) const { return model_.nodes()[static_cast<size_t>(index)]; }

  int forward_time(int index) const { return index; }
  int loss_time() const { return count_; }
  int backward_time(int index) const { return 2 * count_ - index; }
  int end_time() const { return 2 * count_ + 1; }

  void describe_layers() {
    for (int i = 0; i < count_; ++i) {
      PlannedLayer planned;
      planned.name = node(i).name;
      planned.sources = node(i).inputs;
      planned.trained = training() && node(i).parameter_count > 0;
      for (const int source : planned.sources) planned.trained |= source >= 0 && layer(source).trained;
      const TensorSpec& row = node(i).output;
      if (planned.trained && row.dtype != model_.dtype()) {
        throw ShapeError(cat("layer ", planned.name, ": its output is ", row.text(),
                             ", and no gradient passes whole numbers to the parameters before it"));
      }
      planned.output =
          TensorView(nullptr, row.dtype, row.shape.with_batch(args_.inputs[0].rows()), aligned_bytes(row.bytes()));
      out_.layers.push_back(std::move(planned));
    }
  }

  void plan_layer(int index) {
    PlannedLayer& planned = layer(index);
    std::vector<TensorView> inputs;
    std::vector<GradientUse> uses;
    for (const int source : planned.sources) {
      inputs.push_back(source >= 0 ? layer(source).output : out_.fields[static_cast<size_t>(-1 - source)]);
      uses.push_back(use_of_gradient(planned, source));
      planned.input_gradients.emplace_back().beta = uses.back() == GradientUse::add ? 1.0F : 0.0F;
    }
    PlanArgs args;
    args.inputs = inputs;
    args.output = planned.output;
    args.mode = args_.mode;
    args.input_gradients = uses;
    if (training()) args.parameter_gradients = use_of_parameter_gradients();
    args.seed = model_.seed();
    args.name = planned.name;
    in_layer(planned.name, [&] { planned.plan = node(index).layer->plan(context_, args); });
    planned.keeps_inputs = planned.trained && planned.plan->backward_reads_inputs();
    planned.keeps_output = planned.trained && planned.plan->backward_reads_output();
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
    for (int i = 0; i < count_; ++i) places_.push_back(declare_values(i, arena));
    arena.place(args_.share_memory);
    out_.memory = Memory(context_.device(), arena.bytes());
    const auto data = [&](size_t value) { return static_cast<std::byte*>(out_.memory.data()) + arena.offset(value); };
    for (int i = 0; i < count_; ++i) {
      PlannedLayer& planned = layer(i);
      const Places& places = places_[static_cast<size_t>(i)];
      const TensorView& shape = planned.output;
      planned.saved = data(places.saved);
      planned.forward_scratch = data(places.forward_scratch);
      planned.output = TensorView(data(places.output), shape.dtype(), shape.shape(), shape.row_bytes());
      if (!keeps_gradient(i)) continue;
      planned.backward_scratch = data(places.backward_scratch);
      planned.output_gradient =
          TensorView(data(places.output_gradient), shape.dtype(), shape.shape(), shape.row_bytes());
    }
  }

  // The last layer's gradient has a place even where nothing is trained: the loss writes it.
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
    // What a layer keeps and its scratch mostly hold a value for each of the output's.
    const auto add = [&](size_t size, int first, int end) {
      return arena.add({.bytes = size, .weight = planned.output.row_bytes(), .first = first, .last = end});
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
    const Model::Node& from = node(index);
    for (size_t i = 0; i < planned.sources.size(); ++i) {
      const int source = planned.sources[i];
      planned.inputs.push_back(source >= 0 ? layer(source).output : out_.fields[static_cast<size_t>(-1 - source)]);
      if (planned.trained && source >= 0 && layer(source).trained) {
        planned.input_gradients[i].view = layer(source).output_gradient;
      }
    }
    for (size_t i = 0; i < from.parameter_count; ++i)
      planned.params.push_back(model_.parameter(from.first_parameter + i));
    for (size_t i = 0; i < from.state_count; ++i) planned.state.push_back(model_.state(from.first_state + i));
    if (training()) connect_for_training(planned, from);
    planned.kept_inputs.assign(planned.inputs.size(), {});
    if (planned.keeps_inputs) planned.kept_inputs = planned.inputs;
    if (planned.keeps_output) planned.kept_output = planned.output;
  }

  // What a pass in mode train may change.
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
  const int count_;
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
