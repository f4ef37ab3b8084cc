// SimpleLayer: base of the elementwise layers. They have one input, no parameters, and an output of the same shape (or
// of another shape with as many values, by a build() of their own).
//
// A kind writes forward() and backward() as one pass each, usually with map_elements and zip_elements; the plan is made
// here. A whole layer:
//
//   struct Square         { template <class T> MILLRACE_HD T operator()(T x) const { return x * x; } };
//   struct SquareGradient { template <class T> MILLRACE_HD T operator()(T x, T dy) const { return T(2) * x * dy; } };
//
//   class SquareLayer final : public SimpleLayer {
//    public:
//     static constexpr std::string_view kDoc = "the square of every value";
//     void forward(Context& c, const SimpleForward& a) const override { map_elements(c, a.x, a.y, Square{}); }
//     void backward(Context& c, const SimpleBackward& a) const override {
//       zip_elements(c, a.x, a.dy, a.dx, SquareGradient{});
//     }
//     bool backward_reads_output() const override { return false; }
//   };
//
// Functors are in an unnamed namespace. Thread-safety and ownership are as for Layer.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "millrace/core/export.h"
#include "millrace/layers/draws.h"
#include "millrace/layers/elementwise.h"
#include "millrace/layers/layer.h"

namespace millrace {

struct SimpleForward {
  ConstTensorView x = {};
  TensorView y = {};
  Mode mode = Mode::train;
  Draws draws = {};  // for a layer whose draws() is true, in mode train
};

struct SimpleBackward {
  ConstTensorView x = {};  // null unless backward_reads_input()
  ConstTensorView y = {};  // null unless backward_reads_output()
  ConstTensorView dy = {};
  Destination dx = {};
  Draws draws = {};  // the same as forward's
};

class MILLRACE_EXPORT SimpleLayer : public Layer {
 public:
  virtual void forward(Context& context, const SimpleForward& args) const = 0;
  // Called only when the gradient is needed.
  virtual void backward(Context& context, const SimpleBackward& args) const = 0;
  // Values that backward() does not read need not be kept.
  virtual bool backward_reads_input() const { return true; }
  virtual bool backward_reads_output() const { return true; }
  // Whether the passes use their draws.
  virtual bool draws() const { return false; }

  TensorSpec build(std::span<const TensorSpec> inputs, ParamBuilder&) override { return inputs[0]; }

  std::unique_ptr<LayerPlan> plan(Context&, const PlanArgs& args) const override {
    return std::make_unique<Plan>(*this, args);
  }

 private:
  class Plan final : public LayerPlan {
   public:
    Plan(const SimpleLayer& layer, const PlanArgs& args) : layer_(layer), mode_(args.mode) {
      if (uses_draws()) draws_ = plan_draws(args, args.output.elements());
    }

    bool backward_reads_inputs() const override { return layer_.backward_reads_input(); }
    bool backward_reads_output() const override { return layer_.backward_reads_output(); }

    void forward(Context& context, const ForwardArgs& args) override {
      draws_.step = uses_draws() ? args.step : nullptr;
      layer_.forward(context, {args.inputs[0], args.output, mode_, draws_});
    }
    void backward(Context& context, const BackwardArgs& args) override {
      if (!args.input_gradients[0]) return;
      draws_.step = uses_draws() ? args.step : nullptr;
      layer_.backward(context, {args.inputs[0], args.output, args.output_gradient, args.input_gradients[0], draws_});
    }

   private:
    bool uses_draws() const { return layer_.draws() && mode_ == Mode::train; }

    const SimpleLayer& layer_;
    Mode mode_;
    Draws draws_;
  };
};

}  // namespace millrace
