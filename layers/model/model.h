// Model: layers joined into a graph, and the block of memory that holds their parameters.
//
//   Model model = Model::build({.layers = layer_nodes, .inputs = {{"features", spec}}, .seed = 23}, context);
//
// Parameters lie in one contiguous block in model order ("<layer>.weight", "<layer>.bias"), state in another.
//
// Const members may be called from any thread. A model's plans (model_plan.h) refer to its layers and memory and must
// not outlive it. Several plans that predict may run at once, each in a thread and Context of its own, as long as
// nothing trains the model or changes it in another way.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "millrace/core/context.h"
#include "millrace/core/export.h"
#include "millrace/core/spec.h"
#include "millrace/layers/layer.h"

namespace millrace {

// A layer with its name and the names of what it reads: earlier layers, or fields of the batch.
struct LayerNode {
  std::string name;  // empty: the kind, or the first of kind_2, kind_3, ... that no layer or field has
  std::string kind;
  std::unique_ptr<Layer> layer;
  std::vector<std::string> from;  // empty: the previous layer, or the field "features" for the first
  Spec spec;                      // where it was written, for messages
};

struct NamedSpec {
  std::string name;
  TensorSpec spec = {};    // of one row
  std::string unfit = {};  // why no layer can read it: "which is string (1)"; empty: layers can
  std::string hint = {};
  std::optional<ValueRange> range = {};  // for a field of a model: the range that all of its readers want
};

// A parameter or a piece of state and where it lies.
struct Parameter {
  std::string name;  // "dense_2.weight"
  Shape shape;
  Initializer initializer;
  size_t offset = 0;  // bytes from the start of its block, a multiple of 64
};

class Model;

struct ModelArgs {
  std::vector<LayerNode> layers;
  std::vector<NamedSpec> inputs;  // the fields of one row, as the input gives them
  uint64_t seed = 0;              // initial values: initialize.h
  DType dtype = DType::f32;       // of parameters and activations; f64 in gradient checks
  // Called after every layer has declared what it keeps, but before there is memory for it: it must not ask for views
  // or blocks. build() throws what it throws.
  std::function<void(const Model&)> check = {};
};

class MILLRACE_EXPORT Model {
 public:
  // A layer's place in the graph.
  struct Node {
    std::string name;
    std::string kind;
    std::unique_ptr<Layer> layer;
    std::vector<int> inputs;  // >= 0: index of a node; < 0: field -1 - i of `fields()`
    std::vector<TensorSpec> input_specs;
    TensorSpec output;
    size_t first_parameter = 0, parameter_count = 0;
    size_t first_state = 0, state_count = 0;
  };

  // Names, connects, infers shapes, allocates and initialises. Throws ConfigError or ShapeError that names the layer,
  // the two things that do not fit, and the place in the configuration. Every layer except the last must be read by
  // another one.
  static Model build(ModelArgs args, Context& context);

  const std::vector<Node>& nodes() const { return nodes_; }
  // The fields that the model reads, in order of first use, in the dtype and the range in which it wants them: the
  // caller converts and checks.
  const std::vector<NamedSpec>& fields() const { return fields_; }
  // One row of the last layer's output.
  const TensorSpec& output() const { return nodes_.back().output; }
  DType dtype() const { return dtype_; }
  uint64_t seed() const { return seed_; }

  const std::vector<Parameter>& parameters() const { return parameters_; }
  const std::vector<Parameter>& states() const { return states_; }
  TensorView parameter(size_t index);
  ConstTensorView parameter(size_t index) const;
  TensorView state(size_t index);
  ConstTensorView state(size_t index) const;
  // The whole block as a vector of dtype(); padding between parameters, or states, is zero.
  TensorView parameter_block();
  ConstTensorView parameter_block() const;
  ConstTensorView state_block() const;
  int64_t parameter_count() const;  // elements, without padding
  size_t bytes() const { return parameter_memory_.bytes() + state_memory_.bytes(); }

  // A table with a line for each layer: name, kind, what it reads, output, number of parameters; then the total.
  std::string summary() const;

 private:
  Model() = default;
  void add_layer(LayerNode& layer, std::vector<int> inputs);

  std::vector<Node> nodes_;
  std::vector<NamedSpec> fields_;
  std::vector<Parameter> parameters_, states_;
  DType dtype_ = DType::f32;
  uint64_t seed_ = 0;
  Memory parameter_memory_, state_memory_;
};

}  // namespace millrace
