#include "millrace/layers/model/model.h"

#include <algorithm>
#include <array>
#include <utility>

#include "millrace/core/sizes.h"
#include "millrace/core/text.h"
#include "millrace/layers/model/connect.h"
#include "millrace/layers/model/in_layer.h"
#include "millrace/layers/model/initialize.h"

namespace millrace {

namespace {

// Collects what a layer declares, with the layer's name before each name.
class Declarations final : public ParamBuilder {
 public:
  Declarations(std::string_view layer, DType dtype, std::vector<Parameter>& parameters, std::vector<Parameter>& states)
      : layer_(layer), dtype_(dtype), parameters_(parameters), states_(states) {}

  DType dtype() const override { return dtype_; }
  void parameter(std::string_view name, const Shape& shape, Initializer initializer) override {
    add(parameters_, name, shape, initializer);
  }
  void state(std::string_view name, const Shape& shape, Initializer initializer) override {
    add(states_, name, shape, initializer);
  }

 private:
  void add(std::vector<Parameter>& list, std::string_view name, const Shape& shape, const Initializer& initializer) {
    std::string full = cat(layer_, '.', name);
    for (const std::vector<Parameter>* known : {&parameters_, &states_}) {
      for (const Parameter& other : *known) {
        if (other.name == full) throw InternalError(cat("the layer declares ", quote(name), " twice"));
      }
    }
    list.push_back({std::move(full), shape, initializer, 0});
  }

  std::string_view layer_;
  DType dtype_;
  std::vector<Parameter>& parameters_;
  std::vector<Parameter>& states_;
};

std::string source_name(int source, const std::vector<Model::Node>& nodes, const std::vector<NamedSpec>& fields) {
  return source >= 0 ? nodes[static_cast<size_t>(source)].name : fields[static_cast<size_t>(-1 - source)].name;
}

// The inputs of a layer, for messages: "dense float32 (3) and features float32 (4)".
std::string inputs_text(const Model::Node& node, const std::vector<Model::Node>& nodes,
                        const std::vector<NamedSpec>& fields) {
  std::vector<std::string> texts;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    texts.push_back(cat(source_name(node.inputs[i], nodes, fields), ' ', node.input_specs[i].text()));
  }
  return join(texts);
}

// Outputs of layers are not converted, so they must have the dtype that the reader wants.
void check_input_dtypes(const Model::Node& node, DType dtype) {
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const DType wanted = node.layer->wants(static_cast<int>(i), dtype).dtype;
    if (node.input_specs[i].dtype == wanted) continue;
    throw ShapeError(cat("expected ", to_string(wanted), " values, got ", node.input_specs[i].text()));
  }
}

TensorView view_of(const Parameter& entry, DType dtype, const Memory& memory) {
  return TensorView(static_cast<std::byte*>(memory.data()) + entry.offset, dtype, entry.shape);
}

TensorView block_of(DType dtype, const Memory& memory) {
  return TensorView(memory.data(), dtype, Shape{static_cast<int64_t>(memory.bytes() / size_of(dtype))});
}

// Gives every entry its offset and returns memory for all, initialised.
Memory allocate(std::vector<Parameter>& list, DType dtype, uint64_t seed, Context& context) {
  size_t bytes = 0;
  for (Parameter& entry : list) {
    entry.offset = bytes;
    bytes = add_bytes(bytes, aligned_bytes(TensorSpec{entry.shape, dtype}.bytes()));
  }
  Memory memory(context.device(), bytes);
  for (const Parameter& entry : list) {
    initialize(context, entry.name, entry.initializer, seed, view_of(entry, dtype, memory));
  }
  context.synchronize();
  return memory;
}

}  // namespace

Model Model::build(ModelArgs args, Context& context) {
  Model model;
  model.dtype_ = args.dtype;
  model.seed_ = args.seed;
  Connections connections = connect(args.layers, args.inputs, args.dtype);
  model.fields_ = std::move(connections.fields);
  for (size_t i = 0; i < args.layers.size(); ++i) {
    model.add_layer(args.layers[i], std::move(connections.inputs[i]));
  }
  if (args.check) args.check(model);
  model.parameter_memory_ = allocate(model.parameters_, model.dtype_, model.seed_, context);
  model.state_memory_ = allocate(model.states_, model.dtype_, model.seed_, context);
  return model;
}

void Model::add_layer(LayerNode& layer, std::vector<int> inputs) {
  Node node;
  node.name = layer.name;
  node.kind = layer.kind;
  node.layer = std::move(layer.layer);
  node.inputs = std::move(inputs);
  node.first_parameter = parameters_.size();
  node.first_state = states_.size();
  for (const int source : node.inputs) {
    node.input_specs.push_back(source >= 0 ? nodes_[static_cast<size_t>(source)].output
                                           : fields_[static_cast<size_t>(-1 - source)].spec);
  }
  try {
    in_layer(layer, [&] {
      check_input_dtypes(node, dtype_);
      Declarations declarations(node.name, dtype_, parameters_, states_);
      node.output = node.layer->build(node.input_specs, declarations);
      (void)size_of(node.output.dtype);  // throws if there is no such type
    });
  } catch (Error& error) {
    if (!layer.spec.path().empty()) error.add_context(layer.spec.path());
    error.set_place(layer.spec.place());
    error.set_hint(cat("it reads ", inputs_text(node, nodes_, fields_)));
    throw;
  }
  node.parameter_count = parameters_.size() - node.first_parameter;
  node.state_count = states_.size() - node.first_state;
  nodes_.push_back(std::move(node));
}

TensorView Model::parameter(size_t index) { return view_of(parameters_[index], dtype_, parameter_memory_); }

ConstTensorView Model::parameter(size_t index) const { return view_of(parameters_[index], dtype_, parameter_memory_); }

TensorView Model::state(size_t index) { return view_of(states_[index], dtype_, state_memory_); }

ConstTensorView Model::state(size_t index) const { return view_of(states_[index], dtype_, state_memory_); }

TensorView Model::parameter_block() { return block_of(dtype_, parameter_memory_); }

ConstTensorView Model::parameter_block() const { return block_of(dtype_, parameter_memory_); }

ConstTensorView Model::state_block() const { return block_of(dtype_, state_memory_); }

int64_t Model::parameter_count() const {
  int64_t count = 0;
  for (const Parameter& parameter : parameters_) count += parameter.shape.elements();
  return count;
}

std::string Model::summary() const {
  using Line = std::array<std::string, 5>;
  std::vector<Line> lines = {{"layer", "kind", "from", "output", "parameters"}};
  for (const Node& node : nodes_) {
    std::vector<std::string> from;
    for (const int source : node.inputs) from.push_back(source_name(source, nodes_, fields_));
    int64_t count = 0;
    for (size_t i = 0; i < node.parameter_count; ++i) count += parameters_[node.first_parameter + i].shape.elements();
    lines.push_back({node.name, node.kind, join(from, ", "), node.output.text(), cat(count)});
  }
  lines.push_back({"total", "", "", "", cat(parameter_count())});

  std::array<size_t, 5> widths{};
  for (const Line& line : lines) {
    for (size_t c = 0; c < line.size(); ++c) widths[c] = std::max(widths[c], line[c].size());
  }
  std::string out;
  for (const Line& line : lines) {
    for (size_t c = 0; c + 1 < line.size(); ++c) out += cat(line[c], std::string(widths[c] - line[c].size() + 2, ' '));
    out += cat(std::string(widths.back() - line.back().size(), ' '), line.back(), '\n');
  }
  return out;
}

}  // namespace millrace
