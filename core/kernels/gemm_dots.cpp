#include <algorithm>
#include <array>

#include "millrace/core/kernels/dots/dots.h"
#include "millrace/core/kernels/epilogue.h"
#include "millrace/core/kernels/gemm_cpu.h"
#include "millrace/core/kernels/tile_grid.h"

namespace millrace::cpu {

namespace {

// A task makes a tile block by block: the rows of op(a) and of b that a block reads, and the block itself, stay in one
// core's cache.
constexpr int64_t kBlockRows = 48, kBlockColumns = 64;

// To share out less work than this many multiplications, some 10 us, takes longer than to do it.
TileGrid::Limits dot_limits(const GemmSpec& spec) {
  constexpr double kWorthTasks = 1 << 19;
  const double work = static_cast<double>(spec.m) * static_cast<double>(spec.n) * static_cast<double>(spec.k);
  if (work < kWorthTasks) return {spec.m, spec.n, spec.m, spec.n};
  return {256, 128, 64, 64};
}

class DotsGemm final : public Gemm {
 public:
  explicit DotsGemm(const GemmSpec& spec) : spec_(spec), grid_(spec.m, spec.n, spec.k, dot_limits(spec)) {}

  void run(Context& context, const GemmArgs& args) override {
    context.executor().parallel_for(grid_.count(), [&](int64_t index) { run_tile(args, grid_.tile(index)); });
  }

 private:
  void run_tile(const GemmArgs& args, const Tile& tile) const {
    const int64_t rows_end = tile.row + tile.rows, columns_end = tile.column + tile.columns;
    for (int64_t column = tile.column; column < columns_end; column += kBlockColumns) {
      for (int64_t row = tile.row; row < rows_end; row += kBlockRows) {
        run_block(args, {.row = row,
                         .rows = std::min(kBlockRows, rows_end - row),
                         .column = column,
                         .columns = std::min(kBlockColumns, columns_end - column)});
      }
    }
  }

  void run_block(const GemmArgs& args, const Tile& block) const {
    std::array<float, kBlockRows * kBlockColumns> sums;
    dots_({.a = static_cast<const float*>(args.a) + block.row * spec_.lda,
           .b = static_cast<const float*>(args.b) + block.column * spec_.ldb,
           .c = sums.data(),
           .rows = block.rows,
           .columns = block.columns,
           .k = spec_.k,
           .lda = spec_.lda,
           .ldb = spec_.ldb,
           .ldc = block.columns});
    const float alpha = alpha_of<float>(args);
    const float* bias = spec_.bias ? static_cast<const float*>(args.bias) + block.column : nullptr;
    float* c = static_cast<float*>(args.c) + block.row * spec_.ldc + block.column;
    for (int64_t i = 0; i < block.rows; ++i) {
      store_row(sums.data() + i * block.columns, alpha, spec_.beta, bias, spec_.activation, block.columns,
                c + i * spec_.ldc);
    }
  }

  GemmSpec spec_;
  TileGrid grid_;
  DotsFunction* dots_ = dots_function();
};

}  // namespace

std::unique_ptr<Gemm> make_dots_gemm(Context&, const GemmSpec& spec) { return std::make_unique<DotsGemm>(spec); }

}  // namespace millrace::cpu
