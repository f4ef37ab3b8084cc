// Elementwise passes over tensors with padded rows, on the CPU and on CUDA, in float32 and float64. After them: Draws,
// the random numbers of a layer, and SimpleLayer, the base of the elementwise layers.
//
//   struct Square {                                             // a named functor, never a lambda
//     template <class T> MILLRACE_HD T operator()(T x) const { return x * x; }
//   };
//   map_elements(context, x, y, Square{});                      // y = x * x
//   zip_elements(context, x, dy, destination, SquareGradient{}) // dx = beta * dx + alpha * f(x, dy)
//   copy_elements(context, x, y);                              // y = x
//
// map_indexed and zip_indexed also give the functor each value's index: f(x, i), f(x, dy, i) with i = row * columns +
// column, whatever the strides. All tensors of a call have one dtype and as many rows and columns; each has its own
// stride. The result may be one of the operands. Nothing is allocated; on CUDA a call is one launch.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "millrace/core/context.h"
#include "millrace/core/errors.h"
#include "millrace/core/export.h"
#include "millrace/core/parallel.h"
#include "millrace/core/random.h"
#include "millrace/core/tensor.h"
#include "millrace/core/text.h"
#include "millrace/layers/layer.h"

namespace millrace {

inline namespace MILLRACE_UNIT {

// The target of an elementwise body, which computes target = beta * target + alpha * value. If beta is 0, the target is
// never read.
template <class T>
struct Target {
  T* data = nullptr;
  int64_t stride = 0;
  T beta = 0;
  T factor = 1;
  const float* alpha = nullptr;  // replaces factor; only on devices, where the host cannot read alpha

  Target(const Context& context, const Destination& destination)
      : data(destination.view.as<T>()), stride(destination.view.stride()), beta(static_cast<T>(destination.beta)) {
    if (destination.alpha == nullptr) return;
    if (context.device().is_cpu()) {
      factor = static_cast<T>(*destination.alpha);
    } else {
      alpha = destination.alpha;
    }
  }

  MILLRACE_HD void store(int64_t row, int64_t column, T value) const { store_at(row * stride + column, value); }
  // The same for the value that lies `at` values after the first.
  MILLRACE_HD void store_at(int64_t at, T value) const {
    T* const target = data + at;
    const T scaled = (alpha != nullptr ? static_cast<T>(*alpha) : factor) * value;
    *target = beta == T(0) ? scaled : beta * *target + scaled;
  }
};

template <class T, class F>
struct MapBody {
  F f;
  const T* x;
  int64_t x_stride, columns;
  Target<T> out;
  MILLRACE_HD void operator()(int64_t row, int64_t column) const {
    out.store(row, column, f(x[row * x_stride + column], row * columns + column));
  }
};

template <class T, class F>
struct ZipBody {
  F f;
  const T* a;
  const T* b;
  int64_t a_stride, b_stride, columns;
  Target<T> out;
  MILLRACE_HD void operator()(int64_t row, int64_t column) const {
    out.store(row, column, f(a[row * a_stride + column], b[row * b_stride + column], row * columns + column));
  }
};

// Gives a functor without an index the form of one with an index.
template <class F>
struct WithoutIndex {
  F f;
  template <class T>
  MILLRACE_HD T operator()(T x, int64_t) const {
    return f(x);
  }
  template <class T>
  MILLRACE_HD T operator()(T a, T b, int64_t) const {
    return f(a, b);
  }
};

// out = f(x, i), or as the Destination says.
template <class F>
void map_indexed(Context& context, const ConstTensorView& x, const Destination& out, F f) {
  dispatch_float(x.dtype(), [&]<class T>() {
    for_each_row_column(context, x.rows(), x.columns(),
                        MapBody<T, F>{f, x.as<T>(), x.stride(), x.columns(), Target<T>(context, out)});
  });
}
template <class F>
void map_indexed(Context& context, const ConstTensorView& x, const TensorView& out, F f) {
  map_indexed(context, x, Destination{.view = out}, f);
}

// out = f(a, b, i), or as the Destination says.
template <class F>
void zip_indexed(Context& context, const ConstTensorView& a, const ConstTensorView& b, const Destination& out, F f) {
  dispatch_float(a.dtype(), [&]<class T>() {
    for_each_row_column(
        context, a.rows(), a.columns(),
        ZipBody<T, F>{f, a.as<T>(), b.as<T>(), a.stride(), b.stride(), a.columns(), Target<T>(context, out)});
  });
}
template <class F>
void zip_indexed(Context& context, const ConstTensorView& a, const ConstTensorView& b, const TensorView& out, F f) {
  zip_indexed(context, a, b, Destination{.view = out}, f);
}

// out = f(x), or as the Destination says. `Out` is a TensorView or a Destination, here and below.
template <class F, class Out = Destination>
void map_elements(Context& context, const ConstTensorView& x, const Out& out, F f) {
  map_indexed(context, x, out, WithoutIndex<F>{f});
}

// out = f(a, b), or as the Destination says.
template <class F, class Out = Destination>
void zip_elements(Context& context, const ConstTensorView& a, const ConstTensorView& b, const Out& out, F f) {
  zip_indexed(context, a, b, out, WithoutIndex<F>{f});
}

struct Identity {
  template <class T>
  MILLRACE_HD T operator()(T x) const {
    return x;
  }
};

struct Product {
  template <class T>
  MILLRACE_HD T operator()(T a, T b) const {
    return a * b;
  }
};

// out = x, or as the Destination says.
template <class Out>
void copy_elements(Context& context, const ConstTensorView& x, const Out& out) {
  map_elements(context, x, out, Identity{});
}

}  // namespace MILLRACE_UNIT

// The random numbers of one layer. Each value of a step has its own, which backward draws again.
//
//   struct Drop {                                              // a functor for map_indexed
//     Draws draws; double rate;
//     template <class T> MILLRACE_HD T operator()(T x, int64_t i) const { return draws.unit(i) < rate ? T(0) : x; }
//   };
//
// Draws is a value, copied to where it runs. Draw i is philox(seed, fnv1a64(layer's name), step << 32 | i). So no two
// steps share a draw, whatever the sizes of their batches, until 2^32 steps are over.
struct Draws {
  uint64_t seed = 0;
  uint64_t stream = 0;             // fnv1a64 of the layer's name
  const uint64_t* step = nullptr;  // ForwardArgs::step

  // 64 random bits, and a number in (0, 1), for value i of this step. REQUIRES: i is below the `values` planned for.
  MILLRACE_HD uint64_t bits(int64_t i) const { return philox64(seed, stream, *step << 32 | static_cast<uint64_t>(i)); }
  MILLRACE_HD double unit(int64_t i) const { return to_unit(bits(i)); }
};

// The draws of a layer that makes up to `values` of them in a step; each call of the plan sets `step`. Throws
// ShapeError for 2^32 values and more.
inline Draws plan_draws(const PlanArgs& args, int64_t values) {
  constexpr int64_t most = (int64_t{1} << 32) - 1;
  if (values > most) {
    throw ShapeError(cat("expected at most ", most, " values a batch to draw for, got ", values), {},
                     "use smaller batches");
  }
  return {args.seed, fnv1a64(args.name), nullptr};
}

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

// A SimpleLayer has one input, no parameters, and an output of the same shape (or of another shape with as many values,
// by a build() of its own). A kind writes forward() and backward() as one pass each, usually with map_elements and
// zip_elements; the plan is made here. A whole layer:
//
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
// Put functors into an unnamed namespace, and name them after the kind, as several files of a folder may be compiled as
// one. Thread-safety and ownership are as for Layer.
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
