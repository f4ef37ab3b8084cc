#include <algorithm>
#include <array>

#include "millrace/core/kernels/epilogue.h"
#include "millrace/core/kernels/gemm_cpu.h"
#include "millrace/core/sizes.h"

namespace millrace::cpu {

namespace {

using T = double;

// A task makes kRows x kColumns elements of c, and packs kDepth rows of op(b) at a time.
constexpr int64_t kRows = 32, kColumns = 64, kDepth = 32;

class LoopGemm final : public Gemm {
 public:
  explicit LoopGemm(const GemmSpec& spec)
      : spec_(spec), row_blocks_(ceil_div(spec.m, kRows)), column_blocks_(ceil_div(spec.n, kColumns)) {}

  void run(Context& context, const GemmArgs& args) override {
    context.executor().parallel_for(row_blocks_ * column_blocks_, [&](int64_t block) {
      run_block(args, block / column_blocks_ * kRows, block % column_blocks_ * kColumns);
    });
  }

 private:
  using Sums = std::array<std::array<T, kColumns>, kRows>;
  using Packed = std::array<std::array<T, kColumns>, kDepth>;

  void run_block(const GemmArgs& args, int64_t row, int64_t column) const {
    const int64_t rows = std::min(kRows, spec_.m - row), columns = std::min(kColumns, spec_.n - column);
    Sums sums{};
    for (int64_t depth = 0; depth < spec_.k; depth += kDepth) {
      const int64_t depths = std::min(kDepth, spec_.k - depth);
      Packed b{};
      pack(static_cast<const T*>(args.b), depth, depths, column, columns, b);
      multiply(static_cast<const T*>(args.a), row, rows, depth, depths, b, sums);
    }
    for (int64_t i = 0; i < rows; ++i) store(args, sums[static_cast<size_t>(i)], row + i, column, columns);
  }

  void pack(const T* b, int64_t depth, int64_t depths, int64_t column, int64_t columns, Packed& packed) const {
    const int64_t depth_step = spec_.transpose_b ? 1 : spec_.ldb, column_step = spec_.transpose_b ? spec_.ldb : 1;
    for (int64_t l = 0; l < depths; ++l) {
      const T* from = b + (depth + l) * depth_step + column * column_step;
      for (int64_t j = 0; j < columns; ++j) {
        packed[static_cast<size_t>(l)][static_cast<size_t>(j)] = from[j * column_step];
      }
    }
  }

  void multiply(const T* a, int64_t row, int64_t rows, int64_t depth, int64_t depths, const Packed& b,
                Sums& sums) const {
    const int64_t row_step = spec_.transpose_a ? 1 : spec_.lda, depth_step = spec_.transpose_a ? spec_.lda : 1;
    for (int64_t i = 0; i < rows; ++i) {
      auto& sum = sums[static_cast<size_t>(i)];
      for (int64_t l = 0; l < depths; ++l) {
        const T factor = a[(row + i) * row_step + (depth + l) * depth_step];
        const auto& line = b[static_cast<size_t>(l)];
        for (size_t j = 0; j < kColumns; ++j) sum[j] += factor * line[j];
      }
    }
  }

  void store(const GemmArgs& args, const std::array<T, kColumns>& sum, int64_t row, int64_t column,
             int64_t columns) const {
    const T* bias = spec_.bias ? static_cast<const T*>(args.bias) + column : nullptr;
    store_row(sum.data(), alpha_of<T>(args), static_cast<T>(spec_.beta), bias, spec_.activation, columns,
              static_cast<T*>(args.c) + row * spec_.ldc + column);
  }

  GemmSpec spec_;
  int64_t row_blocks_, column_blocks_;
};

}  // namespace

std::unique_ptr<Gemm> make_loop_gemm(Context&, const GemmSpec& spec) { return std::make_unique<LoopGemm>(spec); }

}  // namespace millrace::cpu
