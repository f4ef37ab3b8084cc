// Layer: one node of a model. LayerPlan: its work for one batch size on one device. Before them: what a layer declares
// and is given; after them: checks of shapes.
//
// A Layer is configuration and never changes after build(). Parameters, state and activations belong to the model and
// its plan, so one Layer may serve several plans and threads. A LayerPlan is used by one thread at a time.
// docs/extending.md shows how to write one; elementwise layers derive from SimpleLayer (simple_layer.h).
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "millrace/core/context.h"
#include "millrace/core/errors.h"
#include "millrace/core/export.h"
#include "millrace/core/registry.h"
#include "millrace/core/tensor.h"
#include "millrace/core/text.h"

namespace millrace {

// Which values make sense, both bounds included; NaN and infinities never do.
struct ValueRange {
  double min = 0, max = 0;
  std::string_view hint = {};  // how to mend a value outside; a literal
};

// The form in which a layer reads a field of the batch, or a loss its label. The step converts the values, and refuses
// other values with the place of their row.
struct Wanted {
  DType dtype = DType::f32;
  std::optional<ValueRange> range = {};  // absent: every value is allowed
};

enum class Mode : uint8_t { train, predict };

// How a layer's values may be laid out in memory. An image is a row of the shape (channels, height, width). Every other
// row is plain: its values are in the order of its shape, and rows begin at multiples of kRowAlignment.
enum class LayoutUse : uint8_t {
  plain,  // images are laid out like every other row
  same,   // any layout that all inputs have in common: for layers that treat each value by itself
  // On the CPU pixel by pixel, each with all its channels; on CUDA in the order of the shape. No gaps between rows.
  images,
};

// The first value of a parameter or a piece of state: zeros unless it says otherwise.
struct Initializer {
  enum class Kind : uint8_t { constant, uniform, normal };
  Kind kind = Kind::constant;
  double value = 0;  // the constant; the bound of uniform draws, which lie in +-value; the deviation of normal ones

  static constexpr Initializer constant(double value) { return {Kind::constant, value}; }
  static constexpr Initializer uniform(double bound) { return {Kind::uniform, bound}; }
  static constexpr Initializer normal(double deviation) { return {Kind::normal, deviation}; }

  bool operator==(const Initializer&) const = default;
};

// The usual spread of weights, from the numbers of values that each output reads and that each input reaches.
inline Initializer glorot_uniform(int64_t fan_in, int64_t fan_out) {
  return Initializer::uniform(std::sqrt(6.0 / static_cast<double>(fan_in + fan_out)));
}
inline Initializer he_normal(int64_t fan_in) {
  return Initializer::normal(std::sqrt(2.0 / static_cast<double>(fan_in)));
}

// build() gets one, to declare what the layer keeps between steps.
class MILLRACE_EXPORT ParamBuilder {
 public:
  virtual ~ParamBuilder() = default;
  // The model's dtype: of parameters, state and everything computed from them.
  virtual DType dtype() const = 0;
  // A trained value. `name` is short ("weight"); the model puts the layer's name before it. args.params has the
  // parameters in the order of these calls.
  virtual void parameter(std::string_view name, const Shape& shape, Initializer initializer) = 0;
  // A value that is kept and saved, not trained (running means). It is finite in a sound training
  // (train.on_nonfinite). args.state has them in the order of these calls.
  virtual void state(std::string_view name, const Shape& shape, Initializer initializer) = 0;
};

// Backward leaves out a gradient that nobody needs, writes it, or adds it to the values there.
enum class GradientUse : uint8_t { none, write, add };

struct PlanArgs {
  std::span<const TensorView> inputs = {};  // shapes with batch, strides as they will be; no data
  TensorView output = {};                   // the same for the output
  Mode mode = Mode::train;
  // On the CPU forward must give a row of the output the same bits whatever the number of rows is, wherever the row is,
  // and whatever is in the other rows. Layers that compute each row by itself have nothing to do for that.
  bool rows_alone = false;
  // One for each input; backward's Destinations agree with it (write: beta = 0, add: beta = 1).
  std::span<const GradientUse> input_gradients = {};
  // For all parameters; add if gradients go straight into the parameters, or into a block that sums them up.
  GradientUse parameter_gradients = GradientUse::none;
  uint64_t seed = 0;           // the run's seed, for layers that draw
  std::string_view name = {};  // the layer's name, for draws and messages
};

struct ForwardArgs {
  std::span<const ConstTensorView> inputs = {};
  std::span<const ConstTensorView> params = {};
  std::span<const ConstTensorView> state = {};
  std::span<const TensorView> mutable_state = {};  // the same memory, to be changed; empty in mode predict
  TensorView output = {};
  void* saved = nullptr;           // kept until backward: saved_bytes()
  void* scratch = nullptr;         // free to use during the call: scratch_bytes()
  const uint64_t* step = nullptr;  // the number of forward passes in mode train before this one; in device memory
};

struct BackwardArgs {
  std::span<const ConstTensorView> inputs = {};  // null unless the plan's backward_reads_inputs()
  std::span<const ConstTensorView> params = {};
  std::span<const ConstTensorView> state = {};  // as forward left it
  ConstTensorView output = {};                  // null unless backward_reads_output()
  ConstTensorView output_gradient = {};
  std::span<const Destination> input_gradients = {};      // null if not needed
  std::span<const Destination> parameter_gradients = {};  // null if not needed; may be the parameter itself
  const void* saved = nullptr;
  void* scratch = nullptr;
  const uint64_t* step = nullptr;  // the same as forward's
};

// The work of one step. It allocates nothing and synchronises nothing. On CUDA it is recorded once and then launched
// again and again, so what the host decides or counts in forward() and backward() is the same in every launch. Numbers
// that change from step to step are in the device's memory, such as `step`.
class MILLRACE_EXPORT LayerPlan {
 public:
  virtual ~LayerPlan() = default;
  // Bytes of `saved` and `scratch`. More rows never need fewer bytes. A plan that needs none for one number of rows
  // needs none for any number.
  virtual size_t saved_bytes() const { return 0; }
  virtual size_t scratch_bytes() const { return 0; }
  // Whether backward reads its inputs or its output; values that it does not read are not kept.
  virtual bool backward_reads_inputs() const { return true; }
  virtual bool backward_reads_output() const { return true; }
  // Bytes that the plan holds besides `saved` and `scratch`, at most: a plan for fewer rows holds no more.
  virtual size_t bytes() const { return 0; }

  virtual void forward(Context& context, const ForwardArgs& args) = 0;
  // Reads a parameter before it writes that parameter's gradient, which may be in the same memory. Writes the gradients
  // of the inputs in the order of the inputs: two inputs may be one value.
  virtual void backward(Context& context, const BackwardArgs& args) = 0;
};

enum class OnnxValue : int32_t;
struct OnnxLayer;

class MILLRACE_EXPORT Layer : public HasOrigin {
 public:
  virtual ~Layer() = default;
  // How many inputs the layer takes; max_inputs() < 0 means any number from min_inputs() on.
  virtual int min_inputs() const { return 1; }
  virtual int max_inputs() const { return 1; }
  // How the layer wants its input `input`: in the model's dtype, unless it reads whole numbers (an embedding), which
  // may have to be in a range. Fields of the batch are converted and checked. The output of another layer must have the
  // dtype, and may hold any value. Only inputs of the model's dtype have gradients. Called before build(), too.
  virtual Wanted wants(int /*input*/, DType model) const { return {.dtype = model}; }
  // The layout of inputs and output in memory; the model converts values between layers that differ.
  virtual LayoutUse layout_use() const { return LayoutUse::plain; }

  // Whether its plans need the library for convolutions, which a machine with a GPU may lack.
  virtual bool convolves() const { return false; }

  // Called once. `inputs` describe one row (no batch axis), in the dtypes that wants() tells. Returns one row of the
  // output, in params.dtype() unless it is read as whole numbers. Throws ShapeError.
  virtual TensorSpec build(std::span<const TensorSpec> inputs, ParamBuilder& params) = 0;
  // Called once for each batch size, device and mode: does everything that costs time.
  virtual std::unique_ptr<LayerPlan> plan(Context& context, const PlanArgs& args) const = 0;

  // Adds the nodes that compute the layer's predictions to an ONNX graph, and returns the output (onnx_layer.h). Called
  // after build(). Throws ConfigError if ONNX cannot express the layer.
  virtual OnnxValue to_onnx(const OnnxLayer& /*layer*/) const { throw ConfigError("it cannot be written as ONNX"); }
};

using LayerRegistry = Registry<Layer>;

// The checks of shapes and dtypes that layers, losses and metrics share. The model adds the layer's name and place.

// Throws ShapeError unless the values are float32 or float64.
inline void require_float(const TensorSpec& spec) {
  if (spec.dtype == DType::f32 || spec.dtype == DType::f64) return;
  throw ShapeError(cat("expected float32 values, got ", spec.text()));
}

// Throws ShapeError unless `values` have the dtype that `reader` reads.
inline void require_dtype(std::string_view reader, const TensorSpec& values, DType dtype) {
  if (values.dtype == dtype) return;
  throw ShapeError(cat(reader, " reads ", to_string(dtype), " labels, got ", values.text()));
}

// Throws ShapeError unless `reader` gets a label for each value of the prediction.
inline void require_same_shape(std::string_view reader, const TensorSpec& prediction, const TensorSpec& label) {
  if (prediction.shape == label.shape) return;
  throw ShapeError(
      cat(reader, ": the prediction is ", prediction.shape.text(), " a row, the label ", label.shape.text()), {},
      prediction.shape.elements() == label.shape.elements()
          ? "put a reshape after the last layer, or give the label's field a reshape in decode_csv"
          : "the last layer needs one unit for each value of the label");
}

// Throws ShapeError unless a row of the layer's input is a vector.
inline void require_vector(const TensorSpec& input) {
  if (input.shape.rank() == 1 && input.shape[0] > 0) return;
  throw ShapeError(cat("expected one vector per row, got ", input.text()), {},
                   input.shape.rank() == 3  ? "put a flatten or a global_avg_pool before it"
                   : input.shape.rank() > 1 ? "put a flatten before it"
                                            : "");
}

// The same for a prediction that `reader` reads.
inline void require_vector(std::string_view reader, const TensorSpec& prediction) {
  if (prediction.shape.rank() == 1 && prediction.shape[0] > 0) return;
  throw ShapeError(cat(reader, " expects one vector per row, got ", prediction.text()), {},
                   "end the model with a flatten and a dense layer that has a unit for each class");
}

// Throws ShapeError unless a row has values along a last axis.
inline void require_last_axis(const TensorSpec& spec) {
  const int rank = spec.shape.rank();
  if (rank > 0 && spec.shape[rank - 1] > 0) return;
  throw ShapeError(cat("expected values along the last axis of a row, got ", spec.text()));
}

// Throws ShapeError unless all inputs have one shape and dtype.
inline void require_one_shape(std::span<const TensorSpec> inputs) {
  for (const TensorSpec& input : inputs) {
    if (input == inputs[0]) continue;
    throw ShapeError(cat("expected inputs of one shape, got ", inputs[0].text(), " and ", input.text()));
  }
}

}  // namespace millrace
