// SimpleLayer: base of the elementwise layers: one input, an output of the same shape, no parameters.
//
// A kind writes forward() and backward() as one pass each, usually with map_elements and zip_elements; the plan is made
// here. A whole layer:
//
//   struct Square         { template <class T> MILLRACE_HD T operator()(T x) const { return x * x; } };
//   struct SquareGradient { template <class T> MILLRACE_HD T operator()(T x, T dy) const { return T(2) * x * dy; } };
//
//   class SquareLayer final : public SimpleLayer {
//    public:
//     struct Options { void declare(OptionReader&) {} };
//     static constexpr std::string_view kDoc = "the square of every value";
//     explicit SquareLayer(const Options&) {}
//     void forward(Context& c, const SimpleForward& a) const override { map_elements(c, a.x, a.y, Square{}); }
//     void backward(Context& c, const SimpleBackward& a) const override {
//       zip_elements(c, a.x, a.dy, a.dx, SquareGradient{});
//     }
//     bool backward_reads_output() const override { return false; }
//   };
//
// Functors stand in an unnamed namespace. Thread-safety and ownership as for Layer.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "millrace/core/random.h"
#include "millrace/layers/elementwise.h"
#include "millrace/layers/layer.h"
#include "millrace/layers/shape_checks.h"

namespace millrace {

// What both passes of a layer that draws or differs by mode may want to know.
// A draw for element i is philox(seed, stream, step * elements + i): backward draws the same again.
struct SimpleState {
  Mode mode = Mode::train;
  uint64_t seed = 0;
  uint64_t stream = 0;             // fnv1a64 of the layer's name
  const uint64_t* step = nullptr;  // steps finished before this one; in the device's memory
};

struct SimpleForward {
  ConstTensorView x;
  TensorView y;
  SimpleState state;
};

struct SimpleBackward {
  ConstTensorView x;  // null unless backward_reads_input()
  ConstTensorView y;  // null unless backward_reads_output()
  ConstTensorView dy;
  Destination dx;
  SimpleState state;
};

class SimpleLayer : public Layer {
 public:
  virtual void forward(Context& context, const SimpleForward& args) const = 0;
  // Called only when the gradient is needed.
  virtual void backward(Context& context, const SimpleBackward& args) const = 0;
  // What backward() does not read need not be kept.
  virtual bool backward_reads_input() const { return true; }
  virtual bool backward_reads_output() const { return true; }

  TensorSpec build(std::span<const TensorSpec> inputs, ParamBuilder&) override {
    require_float(inputs[0]);
    return inputs[0];
  }

  std::unique_ptr<LayerPlan> plan(Context&, const PlanArgs& args) const override {
    return std::make_unique<Plan>(*this, SimpleState{args.mode, args.seed, fnv1a64(args.name), nullptr});
  }

 private:
  class Plan final : public LayerPlan {
   public:
    Plan(const SimpleLayer& layer, const SimpleState& state) : layer_(layer), state_(state) {}

    bool backward_reads_inputs() const override { return layer_.backward_reads_input(); }
    bool backward_reads_output() const override { return layer_.backward_reads_output(); }

    void forward(Context& context, const ForwardArgs& args) override {
      state_.step = args.step;
      layer_.forward(context, {args.inputs[0], args.output, state_});
    }
    void backward(Context& context, const BackwardArgs& args) override {
      if (!args.input_gradients[0]) return;
      state_.step = args.step;
      layer_.backward(context, {args.inputs[0], args.output, args.output_gradient, args.input_gradients[0], state_});
    }

   private:
    const SimpleLayer& layer_;
    SimpleState state_;
  };
};

}  // namespace millrace
