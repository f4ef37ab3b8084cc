// Layer: one node of a model. LayerPlan: its work for one batch size on one device.
//
// A Layer is configuration and never changes after build(); parameters, state and activations belong to the model and
// its plan, so one Layer may serve several plans and threads. A LayerPlan is used by one thread at a time.
// docs/extending.md shows how to write one; elementwise layers derive from SimpleLayer (simple_layer.h).
#pragma once

#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/core/context.h"
#include "millrace/core/export.h"
#include "millrace/core/kernels/destination.h"
#include "millrace/core/registry.h"
#include "millrace/core/tensor.h"
#include "millrace/layers/head.h"

namespace millrace {

enum class Mode : uint8_t { train, predict };

// What a layer's values may look like in memory. An image is a row of the shape (channels, height, width); every other
// row is plain: its values in the order of its shape, and rows begin at multiples of kRowAlignment.
enum class LayoutUse : uint8_t {
  plain,   // images, too, are like every other row
  same,    // whatever they are, when all of the inputs are alike: for what treats each value by itself
  images,  // images lie as layers/images/images.h says
};

// How a parameter or a piece of state begins; zeros unless it says otherwise. initialize.h has the formulas.
struct Initializer {
  enum class Kind : uint8_t { constant, uniform, normal };
  Kind kind = Kind::constant;
  double value = 0;  // the constant; the bound of uniform draws, which lie in +-value; the deviation of normal ones

  static constexpr Initializer constant(double value) { return {Kind::constant, value}; }
  static constexpr Initializer uniform(double bound) { return {Kind::uniform, bound}; }
  static constexpr Initializer normal(double deviation) { return {Kind::normal, deviation}; }

  bool operator==(const Initializer&) const = default;
};

// Usual spreads of weights, from the number of values that each output reads and that each input reaches.
inline Initializer glorot_uniform(int64_t fan_in, int64_t fan_out) {
  return Initializer::uniform(std::sqrt(6.0 / static_cast<double>(fan_in + fan_out)));
}
inline Initializer he_normal(int64_t fan_in) {
  return Initializer::normal(std::sqrt(2.0 / static_cast<double>(fan_in)));
}

// Given to build(): what the layer keeps between steps.
class MILLRACE_EXPORT ParamBuilder {
 public:
  virtual ~ParamBuilder() = default;
  // The model's: of parameters, state and what is computed from them.
  virtual DType dtype() const = 0;
  // A trained value. `name` is short ("weight"); the model puts the layer's name before it.
  // Parameters appear in args.params in the order of these calls.
  virtual void parameter(std::string_view name, const Shape& shape, Initializer initializer) = 0;
  // Kept and saved, not trained (running means). Appears in args.state, likewise in order.
  virtual void state(std::string_view name, const Shape& shape, Initializer initializer) = 0;
};

// What backward does with a gradient: nothing, as nobody needs it; write it; or add it to what is there.
enum class GradientUse : uint8_t { none, write, add };

struct PlanArgs {
  std::span<const TensorView> inputs = {};  // shapes with batch, strides as they will be; no data
  TensorView output = {};                   // likewise
  Mode mode = Mode::train;
  // One for each input; the Destinations that backward gets agree with it (write: beta = 0, add: beta = 1).
  std::span<const GradientUse> input_gradients = {};
  // Of all parameters; add when gradients go straight into the parameters, or into a block that sums them up.
  GradientUse parameter_gradients = GradientUse::none;
  uint64_t seed = 0;           // the run's, for layers that draw
  std::string_view name = {};  // the layer's, for draws and messages
  // Whether this layer leaves its rectifier to the next one, or takes that of the one before: see Layer.
  bool leaves_rectifier = false, takes_rectifier = false;
};

struct ForwardArgs {
  std::span<const ConstTensorView> inputs = {};
  std::span<const ConstTensorView> params = {};
  std::span<const ConstTensorView> state = {};
  std::span<const TensorView> mutable_state = {};  // the same memory, to be changed; empty in mode predict
  TensorView output = {};
  TensorView rectified = {};       // with PlanArgs::takes_rectifier the input, else null
  void* saved = nullptr;           // kept until backward: saved_bytes()
  void* scratch = nullptr;         // free to use during the call: scratch_bytes()
  const uint64_t* step = nullptr;  // forward passes in mode train before this one; in the device's memory
};

struct BackwardArgs {
  std::span<const ConstTensorView> inputs = {};  // null unless the plan's backward_reads_inputs()
  std::span<const ConstTensorView> params = {};
  std::span<const ConstTensorView> state = {};  // as forward left it
  ConstTensorView output = {};                  // null unless backward_reads_output()
  ConstTensorView output_gradient = {};
  std::span<const Destination> input_gradients = {};      // null where not needed
  std::span<const Destination> parameter_gradients = {};  // null where not needed; may be the parameter itself
  Destination input_sums = {};  // with PlanArgs::takes_rectifier: of the columns of the input's gradient; may be null
  const void* saved = nullptr;
  void* scratch = nullptr;
  const uint64_t* step = nullptr;  // the same as forward's
};

// One step's work: allocates nothing and synchronises nothing. On CUDA it is recorded once and then launched again and
// again (core/replay.h), so what the host decides or counts in forward() and backward() stays as it was: what changes
// from step to step lies in the device's memory, like `step`.
class MILLRACE_EXPORT LayerPlan {
 public:
  virtual ~LayerPlan() = default;
  // Neither is less for more rows; and either is 0 for every number of rows or for none.
  virtual size_t saved_bytes() const { return 0; }
  virtual size_t scratch_bytes() const { return 0; }
  // Whether backward reads its inputs or its output; what is not read is not kept.
  virtual bool backward_reads_inputs() const { return true; }
  virtual bool backward_reads_output() const { return true; }
  // Bytes that the plan holds itself, beside `saved` and `scratch`, at most: a plan for fewer rows holds no more.
  virtual size_t bytes() const { return 0; }

  virtual void forward(Context& context, const ForwardArgs& args) = 0;
  // Where forward() with these arguments is no more than that: what a loss may do in its place, in every step.
  virtual std::optional<Head> head(const ForwardArgs& /*args*/) const { return std::nullopt; }
  // Reads a parameter before it writes that parameter's gradient, which may lie in the same memory. Writes the
  // gradients of the inputs in the order of the inputs: two of them may be one value's.
  virtual void backward(Context& context, const BackwardArgs& args) = 0;
};

class MILLRACE_EXPORT Layer {
 public:
  virtual ~Layer() = default;
  // How many inputs the layer takes; max_inputs() < 0: any number from min_inputs() on.
  virtual int min_inputs() const { return 1; }
  virtual int max_inputs() const { return 1; }
  // The dtype in which input `input` is wanted: the model's, unless a layer reads whole numbers (an embedding). Fields
  // of the batch are converted to it. Only inputs of the model's dtype have gradients.
  virtual DType input_dtype(int /*input*/, DType model) const { return model; }
  // How the inputs and the output lie in memory; the model changes them on the way where layers differ.
  virtual LayoutUse layout_use() const { return LayoutUse::plain; }

  // Two layers share the first one's work where it can leave its rectifier, at its output, and the second one can take
  // it and alone reads that; on CUDA, in float32 and mode train. The first one then gives what comes before the
  // rectifier, and is given the gradient of that. The second one makes its input max(x, 0), in place, before it reads
  // it, and gives the gradient from before that; the sums of its columns are the gradient of the first one's bias,
  // which is its second parameter, if it has one.
  virtual bool can_leave_rectifier() const { return false; }
  virtual bool can_take_rectifier() const { return false; }

  // Whether its plans need the library of convolutions, which a machine with a GPU may lack.
  virtual bool convolves() const { return false; }

  // Once. `inputs` are of one row (no batch axis), of the dtypes that input_dtype() wants. Returns one row of the
  // output, of params.dtype() unless it is read as whole numbers. Throws ShapeError.
  virtual TensorSpec build(std::span<const TensorSpec> inputs, ParamBuilder& params) = 0;
  // Once per batch size, device and mode: makes what costs time.
  virtual std::unique_ptr<LayerPlan> plan(Context& context, const PlanArgs& args) const = 0;
};

using LayerRegistry = Registry<Layer>;

}  // namespace millrace
