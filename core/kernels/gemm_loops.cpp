#include <algorithm>
#include <array>

#include "millrace/core/kernels/epilogue.h"
#include "millrace/core/kernels/gemm_cpu.h"
#include "millrace/core/sizes.h"

namespace millrace::cpu {

namespace {

using T = double;

// A task makes kRows x kColumns elements of c.
constexpr int64_t kRows = 32, kColumns = 64;

class LoopGemm final : public Gemm {
 public:
  explicit LoopGemm(const GemmSpec& spec) : spec_(spec) {}

  void run(Context& context, const GemmArgs& args) override {
    const int64_t row_blocks = ceil_div(spec_.m, kRows), column_blocks = ceil_div(spec_.n, kColumns);
    context.executor().parallel_for(row_blocks * column_blocks, [&](int64_t block) {
      const int64_t begin = block / column_blocks * kRows, end = std::min(spec_.m, begin + kRows);
      for (int64_t row = begin; row < end; ++row) run_row(args, row, block % column_blocks * kColumns);
    });
  }

 private:
  // Makes the elements of one row from `column` on.
  void run_row(const GemmArgs& args, int64_t row, int64_t column) const {
    const int64_t a_step = spec_.transpose_a ? spec_.lda : 1, b_step = spec_.transpose_b ? spec_.ldb : 1;
    const T* const a = static_cast<const T*>(args.a) + row * (spec_.transpose_a ? 1 : spec_.lda);
    const T* const b = static_cast<const T*>(args.b) + column * b_step;
    const int64_t columns = std::min(kColumns, spec_.n - column);
    std::array<T, kColumns> sums{};
    for (int64_t l = 0; l < spec_.k; ++l) {
      const T factor = a[l * a_step];
      const T* const line = b + l * (spec_.transpose_b ? 1 : spec_.ldb);
      for (int64_t j = 0; j < columns; ++j) sums[static_cast<size_t>(j)] += factor * line[j * b_step];
    }
    const T* bias = spec_.bias ? static_cast<const T*>(args.bias) + column : nullptr;
    store_row(sums.data(), alpha_of<T>(args), static_cast<T>(spec_.beta), bias, spec_.activation, columns,
              static_cast<T*>(args.c) + row * spec_.ldc + column);
  }

  GemmSpec spec_;
};

}  // namespace

std::unique_ptr<Gemm> make_loop_gemm(Context&, const GemmSpec& spec) { return std::make_unique<LoopGemm>(spec); }

}  // namespace millrace::cpu
