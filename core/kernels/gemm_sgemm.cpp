#include <dnnl.h>

#include "millrace/core/errors.h"
#include "millrace/core/kernels/epilogue.h"
#include "millrace/core/kernels/gemm_cpu.h"
#include "millrace/core/kernels/tile_grid.h"
#include "millrace/core/library_call.h"
#include "millrace/core/text.h"

namespace millrace::cpu {

namespace {

// With a transposed `a` (weight gradients) dnnl_sgemm wants long rows of c; else low tiles cost less than narrow ones.
TileGrid::Limits limits(const GemmSpec& spec) {
  if (spec.transpose_a) return {128, 1024, 64, 256};
  return {64, 256, 64, 64};
}

class SgemmGemm final : public Gemm {
 public:
  explicit SgemmGemm(const GemmSpec& spec) : spec_(spec), grid_(spec.m, spec.n, spec.k, limits(spec)) {}

  void run(Context& context, const GemmArgs& args) override {
    context.executor().parallel_for(grid_.count(), [&](int64_t index) { run_tile(args, grid_.tile(index)); });
  }

 private:
  void run_tile(const GemmArgs& args, const Tile& tile) const {
    float* c = static_cast<float*>(args.c) + tile.row * spec_.ldc + tile.column;
    multiply(args, tile, c);
    if (!spec_.bias && spec_.activation == FusedActivation::none) return;
    const float* bias = spec_.bias ? static_cast<const float*>(args.bias) + tile.column : nullptr;
    for (int64_t i = 0; i < tile.rows; ++i) {
      add_bias_and_activate(bias, spec_.activation, tile.columns, c + i * spec_.ldc);
    }
  }

  void multiply(const GemmArgs& args, const Tile& tile, float* c) const {
    const float* a = static_cast<const float*>(args.a) + tile.row * (spec_.transpose_a ? 1 : spec_.lda);
    const float* b = static_cast<const float*>(args.b) + tile.column * (spec_.transpose_b ? spec_.ldb : 1);
    dnnl_status_t status;
    {
      const LibraryCall mark;
      status = dnnl_sgemm(spec_.transpose_a ? 'T' : 'N', spec_.transpose_b ? 'T' : 'N', tile.rows, tile.columns,
                          spec_.k, alpha_of<float>(args), a, spec_.lda, b, spec_.ldb, spec_.beta, c, spec_.ldc);
    }
    if (status != dnnl_success) {
      throw InternalError(cat("oneDNN refused a product of (", tile.rows, ", ", spec_.k, ") and (", spec_.k, ", ",
                              tile.columns, "): status ", static_cast<int>(status)));
    }
  }

  GemmSpec spec_;
  TileGrid grid_;
};

}  // namespace

std::unique_ptr<Gemm> make_sgemm_gemm(Context&, const GemmSpec& spec) { return std::make_unique<SgemmGemm>(spec); }

}  // namespace millrace::cpu
