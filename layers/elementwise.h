// Elementwise passes over tensors with padded rows, on the CPU and on CUDA, in float32 and float64.
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

#include "millrace/core/context.h"
#include "millrace/core/dispatch.h"
#include "millrace/core/hd.h"
#include "millrace/core/kernels/destination.h"
#include "millrace/core/parallel.h"
#include "millrace/core/tensor.h"

namespace millrace {

// Like the loops of parallel.h, these templates have another name in CUDA units than in C++ ones.
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
  // The same, `at` values after the first.
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

// out = f(x), or as the Destination says.
template <class F>
void map_elements(Context& context, const ConstTensorView& x, const Destination& out, F f) {
  map_indexed(context, x, out, WithoutIndex<F>{f});
}
template <class F>
void map_elements(Context& context, const ConstTensorView& x, const TensorView& out, F f) {
  map_indexed(context, x, out, WithoutIndex<F>{f});
}

// out = f(a, b), or as the Destination says.
template <class F>
void zip_elements(Context& context, const ConstTensorView& a, const ConstTensorView& b, const Destination& out, F f) {
  zip_indexed(context, a, b, out, WithoutIndex<F>{f});
}
template <class F>
void zip_elements(Context& context, const ConstTensorView& a, const ConstTensorView& b, const TensorView& out, F f) {
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

// out = x, or as the Destination says. `Out` is a TensorView or a Destination.
template <class Out>
void copy_elements(Context& context, const ConstTensorView& x, const Out& out) {
  map_elements(context, x, out, Identity{});
}

}  // namespace MILLRACE_UNIT
}  // namespace millrace
