#include <dnnl.h>

#include <algorithm>

#include "millrace/core/errors.h"
#include "millrace/core/kernels/gemm_cpu.h"
#include "millrace/core/library_call.h"
#include "millrace/core/text.h"

namespace millrace::cpu {

namespace {

constexpr int64_t kTileRows = 256, kTileColumns = 128;

class TiledGemm final : public Gemm {
 public:
  explicit TiledGemm(const GemmSpec& spec)
      : spec_(spec),
        row_tiles_((spec.m + kTileRows - 1) / kTileRows),
        column_tiles_((spec.n + kTileColumns - 1) / kTileColumns) {}

  void run(Context& context, const GemmArgs& args) override {
    context.executor().parallel_for(row_tiles_ * column_tiles_, [&](int64_t tile) {
      const int64_t row = tile / column_tiles_ * kTileRows, column = tile % column_tiles_ * kTileColumns;
      run_tile(args, row, std::min(kTileRows, spec_.m - row), column, std::min(kTileColumns, spec_.n - column));
    });
  }

 private:
  void run_tile(const GemmArgs& args, int64_t row, int64_t rows, int64_t column, int64_t columns) const {
    const float* a = static_cast<const float*>(args.a) + (spec_.transpose_a ? row : row * spec_.lda);
    const float* b = static_cast<const float*>(args.b) + (spec_.transpose_b ? column * spec_.ldb : column);
    float* c = static_cast<float*>(args.c) + row * spec_.ldc + column;
    const float alpha = args.alpha != nullptr ? *args.alpha : 1.0f;
    multiply(rows, columns, alpha, a, b, c);
    finish(spec_.bias ? static_cast<const float*>(args.bias) + column : nullptr, c, rows, columns);
  }

  void multiply(int64_t rows, int64_t columns, float alpha, const float* a, const float* b, float* c) const {
    const LibraryCall mark;
    const dnnl_status_t status = dnnl_sgemm(spec_.transpose_a ? 'T' : 'N', spec_.transpose_b ? 'T' : 'N', rows, columns,
                                            spec_.k, alpha, a, spec_.lda, b, spec_.ldb, spec_.beta, c, spec_.ldc);
    if (status != dnnl_success) {
      const OwnCode own;
      throw InternalError(cat("oneDNN refused a product of ", rows, " x ", spec_.k, " x ", columns, ": status ",
                              static_cast<int>(status)));
    }
  }

  void finish(const float* bias, float* c, int64_t rows, int64_t columns) const {
    if (bias == nullptr && spec_.activation == Activation::none) return;
    const bool relu = spec_.activation == Activation::relu;
    for (int64_t i = 0; i < rows; ++i, c += spec_.ldc) {
      if (bias != nullptr) {
        for (int64_t j = 0; j < columns; ++j) c[j] += bias[j];
      }
      if (relu) {
        for (int64_t j = 0; j < columns; ++j) c[j] = c[j] < 0 ? 0 : c[j];
      }
    }
  }

  GemmSpec spec_;
  int64_t row_tiles_, column_tiles_;
};

}  // namespace

std::unique_ptr<Gemm> make_tiled_gemm(const GemmSpec& spec) { return std::make_unique<TiledGemm>(spec); }

}  // namespace millrace::cpu
