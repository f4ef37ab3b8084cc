// Layer: one node of a model. LayerPlan: its work for one batch size on one device.
//
// A Layer is configuration and never changes after build(); parameters, state and activations belong to the model and
// its plan, so one Layer may serve several plans and threads. A LayerPlan is used by one thread at a time.
// docs/extending.md shows how to write one; elementwise layers derive from SimpleLayer (simple_layer.h).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/core/context.h"
#include "millrace/core/kernels/destination.h"
#include "millrace/core/registry.h"
#include "millrace/core/tensor.h"

namespace millrace {

enum class Mode : uint8_t { train, predict };

// How a parameter begins. Draws are philox(seed, fnv1a64(parameter's name), index): see docs/design.md.
struct Initializer {
  enum class Kind : uint8_t { zeros, ones, glorot_uniform };
  Kind kind = Kind::zeros;
  int64_t fan_in = 0, fan_out = 0;  // glorot_uniform: uniform in +-sqrt(6 / (fan_in + fan_out))
};

// Given to build(): what the layer keeps between steps.
class ParamBuilder {
 public:
  virtual ~ParamBuilder() = default;
  // A trained value. `name` is short ("weight"); the model puts the layer's name before it.
  // Parameters appear in args.params in the order of these calls.
  virtual void parameter(std::string_view name, const Shape& shape, Initializer initializer) = 0;
  // Kept and saved, not trained (running means). Appears in args.state.
  virtual void state(std::string_view name, const Shape& shape, Initializer initializer) = 0;
};

// What backward does with a gradient: nothing, as nobody needs it; write it; or add it to what is there.
enum class GradientUse : uint8_t { none, write, add };

struct PlanArgs {
  std::span<const TensorView> inputs;  // shapes with batch, strides as they will be; no data
  TensorView output;                   // likewise
  Mode mode = Mode::train;
  // One for each input; the Destinations that backward gets agree with it (write: beta = 0, add: beta = 1).
  std::span<const GradientUse> input_gradients;
  // Of all parameters; add when gradients go straight into the parameters.
  GradientUse parameter_gradients = GradientUse::none;
  uint64_t seed = 0;      // the run's, for layers that draw
  std::string_view name;  // the layer's, for draws and messages
};

struct ForwardArgs {
  std::span<const ConstTensorView> inputs;
  std::span<const ConstTensorView> params;
  std::span<const TensorView> state;
  TensorView output;
  void* saved = nullptr;           // kept until backward: saved_bytes()
  void* scratch = nullptr;         // free to use during the call: scratch_bytes()
  const uint64_t* step = nullptr;  // forward passes in mode train before this one; in the device's memory
};

struct BackwardArgs {
  std::span<const ConstTensorView> inputs;  // null unless the plan's backward_reads_inputs()
  std::span<const ConstTensorView> params;
  ConstTensorView output;  // null unless backward_reads_output()
  ConstTensorView output_gradient;
  std::span<const Destination> input_gradients;      // null where not needed
  std::span<const Destination> parameter_gradients;  // null where not needed; may be the parameter itself
  const void* saved = nullptr;
  void* scratch = nullptr;
  const uint64_t* step = nullptr;
};

// One step's work: allocates nothing, synchronises nothing, may be captured into a CUDA graph.
class LayerPlan {
 public:
  virtual ~LayerPlan() = default;
  virtual size_t saved_bytes() const { return 0; }
  virtual size_t scratch_bytes() const { return 0; }
  // Whether backward reads its inputs or its output; what is not read is not kept.
  virtual bool backward_reads_inputs() const { return true; }
  virtual bool backward_reads_output() const { return true; }
  // Bytes that the plan holds itself, beside `saved` and `scratch`, at most: a plan for fewer rows holds no more.
  virtual size_t bytes() const { return 0; }

  virtual void forward(Context& context, const ForwardArgs& args) = 0;
  // Reads a parameter before it writes that parameter's gradient, which may lie in the same memory. Writes the
  // gradients of the inputs in the order of the inputs: two of them may be one value's.
  virtual void backward(Context& context, const BackwardArgs& args) = 0;
};

class Layer {
 public:
  virtual ~Layer() = default;
  // How many inputs the layer takes; max_inputs() < 0: any number from min_inputs() on.
  virtual int min_inputs() const { return 1; }
  virtual int max_inputs() const { return 1; }

  // Once. `inputs` are of one row (no batch axis). Returns one row of the output. Throws ShapeError.
  virtual TensorSpec build(std::span<const TensorSpec> inputs, ParamBuilder& params) = 0;
  // Once per batch size, device and mode: makes what costs time.
  virtual std::unique_ptr<LayerPlan> plan(Context& context, const PlanArgs& args) const = 0;
};

using LayerRegistry = Registry<Layer>;

}  // namespace millrace
