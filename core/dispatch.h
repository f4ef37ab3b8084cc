// dispatch_float: calls a generic host lambda with the C++ type of a floating-point dtype.
//
//   dispatch_float(x.dtype(), [&]<class T>() { for_each_index(context, n, Relu<T>{x.as<T>(), y.as<T>()}); });
//
// The lambda runs on the host. It launches named functors, so the same file compiles as C++ and as CUDA.
#pragma once

#include <string>

#include "millrace/core/errors.h"
#include "millrace/core/tensor.h"
#include "millrace/core/text.h"

namespace millrace {

// Out of line, because every kernel passes through dispatch_float().
[[noreturn, gnu::noinline]] inline void throw_no_kernel(DType dtype) {
  throw InternalError(cat("no kernel for ", to_string(dtype), " values"));
}

// REQUIRES: dtype is f32 or f64; layers check that when they are built. Throws InternalError otherwise.
template <class F>
void dispatch_float(DType dtype, F&& call) {
  switch (dtype) {
    case DType::f32: call.template operator()<float>(); return;
    case DType::f64: call.template operator()<double>(); return;
    default: throw_no_kernel(dtype);
  }
}

}  // namespace millrace
