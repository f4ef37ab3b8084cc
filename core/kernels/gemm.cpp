#include "millrace/core/kernels/gemm.h"

#include "millrace/core/cuda/kernels.h"
#include "millrace/core/errors.h"
#include "millrace/core/kernels/gemm_cpu.h"
#include "millrace/core/text.h"

namespace millrace {

namespace {

// Gives a stored matrix its row length where it is 0; throws when rows would overlap.
void fill_stride(std::string_view name, int64_t columns, int64_t& stride) {
  if (stride == 0) stride = columns;
  if (stride < columns) {
    throw ShapeError(cat("a matrix product's ld", name, " is ", stride, ", but a row of ", name, " has ",
                         count_of(columns, "element")));
  }
}

GemmSpec checked(GemmSpec spec) {
  if (spec.m < 1 || spec.n < 1 || spec.k < 1) {
    throw ShapeError(cat("a matrix product needs sizes of at least 1, got m ", spec.m, ", n ", spec.n, ", k ", spec.k));
  }
  if (spec.dtype != DType::f32 && spec.dtype != DType::f64) {
    throw ShapeError(cat("a matrix product needs float32 or float64, got ", to_string(spec.dtype)));
  }
  fill_stride("a", spec.transpose_a ? spec.m : spec.k, spec.lda);
  fill_stride("b", spec.transpose_b ? spec.k : spec.n, spec.ldb);
  fill_stride("c", spec.n, spec.ldc);
  return spec;
}

}  // namespace

std::unique_ptr<Gemm> make_gemm(Context& context, const GemmSpec& spec) {
  const GemmSpec full = checked(spec);
  if (!context.device().is_cpu()) return cuda::make_gemm(context, full);
  if (full.dtype == DType::f64) return cpu::make_loop_gemm(context, full);
  if (full.m == 1 || full.n == 1 || full.k == 1) return cpu::make_narrow_gemm(context, full);
  if (!full.transpose_a && full.transpose_b) return cpu::make_matmul_gemm(context, full);
  return cpu::make_sgemm_gemm(context, full);
}

size_t shared_workspace_bytes(Device device) { return device.is_cpu() ? 0 : cuda::kWorkspaceBytes; }

}  // namespace millrace
