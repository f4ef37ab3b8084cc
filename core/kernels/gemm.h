// Matrix products: c = activation(alpha * op(a) * op(b) + bias + beta * c), planned once, run many times.
//
// CPU: a fixed grid of tiles, each one single-threaded call of oneDNN; vectors, float64 and rows that must not depend
// on each other go through loops of our own.
// CUDA: cuBLASLt; vectors go through kernels of our own. The result depends only on shapes, values, device and the
// context's precision, never on the number of threads. A Gemm is used by one thread at a time and belongs to the
// Context that it was made for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "millrace/core/context.h"
#include "millrace/core/export.h"
#include "millrace/core/tensor.h"

namespace millrace {

// An activation that a product applies to its result before it stores it; every other activation is a pass of its own.
enum class FusedActivation : uint8_t { none, relu };

inline namespace MILLRACE_UNIT {

// A NaN stays a NaN.
template <class T>
MILLRACE_HD T activated(T value, FusedActivation activation) {
  return activation == FusedActivation::relu && value < T(0) ? T(0) : value;
}

}  // namespace MILLRACE_UNIT

struct GemmSpec {
  int64_t m = 0, n = 0, k = 0;        // op(a) is (m, k), op(b) is (k, n), c is (m, n)
  DType dtype = DType::f32;           // f32 or f64
  bool transpose_a = false;           // a is stored as (k, m)
  bool transpose_b = false;           // b is stored as (n, k)
  int64_t lda = 0, ldb = 0, ldc = 0;  // elements between stored rows; 0 = contiguous
  float beta = 0;                     // the factor of the old c; if it is 0, c is only written
  bool bias = false;                  // adds bias[n] to every row
  FusedActivation activation = FusedActivation::none;
  // On the CPU a row of c has the same bits whatever m is, wherever the row is, and whatever is in the other rows.
  // REQUIRES: transpose_b and not transpose_a.
  bool rows_alone = false;
};

struct GemmArgs {
  const void* a = nullptr;
  const void* b = nullptr;
  void* c = nullptr;
  const void* bias = nullptr;    // n elements; REQUIRES spec.bias
  const float* alpha = nullptr;  // read when the product runs, in the device's memory; nullptr means 1
};

class MILLRACE_EXPORT Gemm {
 public:
  virtual ~Gemm() = default;
  // Allocates nothing of its own and, on CUDA, only enqueues. Throws InternalError when oneDNN fails.
  // REQUIRES: c overlaps neither a, b nor bias.
  virtual void run(Context& context, const GemmArgs& args) = 0;
  // Bytes of the buffers that it holds itself, at most: for fewer rows m it would hold no more.
  virtual size_t bytes() const { return 0; }
};

// Throws DeviceError when the device refuses, InternalError when oneDNN does. REQUIRES: float32 or float64, sizes of at
// least 1, and rows that do not overlap.
MILLRACE_EXPORT std::unique_ptr<Gemm> make_gemm(Context& context, const GemmSpec& spec);

// Bytes that all products and convolutions of a Context share, at most: the workspace of CUDA's libraries.
MILLRACE_EXPORT size_t shared_workspace_bytes(Device device);

}  // namespace millrace
