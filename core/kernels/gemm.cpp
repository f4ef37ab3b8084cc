#include "millrace/core/kernels/gemm.h"

#include "millrace/core/cuda/kernels.h"
#include "millrace/core/kernels/gemm_cpu.h"

namespace millrace {

namespace {

// The spec with the leading dimensions that it leaves out.
GemmSpec with_strides(GemmSpec spec) {
  if (spec.lda == 0) spec.lda = spec.transpose_a ? spec.m : spec.k;
  if (spec.ldb == 0) spec.ldb = spec.transpose_b ? spec.k : spec.n;
  if (spec.ldc == 0) spec.ldc = spec.n;
  return spec;
}

}  // namespace

std::unique_ptr<Gemm> make_gemm(Context& context, const GemmSpec& spec) {
  const GemmSpec full = with_strides(spec);
  if (!context.device().is_cpu()) return cuda::make_gemm(context, full);
  if (full.dtype == DType::f64) return cpu::make_loop_gemm(context, full);
  if (full.rows_alone) return cpu::make_dots_gemm(context, full);
  if (full.m == 1 || full.n == 1 || full.k == 1) return cpu::make_narrow_gemm(context, full);
  if (!full.transpose_a && full.transpose_b) return cpu::make_matmul_gemm(context, full);
  return cpu::make_sgemm_gemm(context, full);
}

size_t shared_workspace_bytes(Device device) { return device.is_cpu() ? 0 : cuda::kWorkspaceBytes; }

}  // namespace millrace
