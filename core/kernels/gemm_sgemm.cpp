#include <algorithm>
#include <cstring>

#include "millrace/core/context.h"
#include "millrace/core/errors.h"
#include "millrace/core/kernels/epilogue.h"
#include "millrace/core/kernels/gemm_cpu.h"
#include "millrace/core/kernels/onednn_planning.h"
#include "millrace/core/kernels/tile_grid.h"
#include "millrace/core/library_call.h"
#include "millrace/core/text.h"

namespace millrace::cpu {

namespace {

// If `a` is transposed (weight gradients), dnnl_sgemm is faster with long rows of c. Otherwise low tiles cost less than
// narrow ones.
TileGrid::Limits limits(const GemmSpec& spec) {
  if (spec.transpose_a) return {128, 1024, 64, 256};
  return {64, 256, 64, 64};
}

// An operand that is read by columns: it has k rows, and each product reads a few neighbouring columns. If rows are a
// multiple of 2 KiB apart, the values of a column share a few sets of the cache, and dnnl_sgemm takes up to twice as
// long (AMD, AVX2). Then a copy with rows further apart is read instead.
class ColumnOperand {
 public:
  // There are `columns` columns, `stride` apart. Each is read as a column in `uses` products.
  ColumnOperand(int64_t rows, int64_t columns, int64_t stride, int64_t uses)
      : rows_(rows), columns_(columns), given_(stride), stride_(stride) {
    constexpr int64_t kSameSets = 2048 / sizeof(float), kLine = 64 / sizeof(float), kWorthACopy = 32;
    if (stride % kSameSets != 0 || rows < kWorthACopy || uses < kWorthACopy) return;
    stride_ = ceil_div(columns, kLine) * kLine;
    if (stride_ % kSameSets == 0) stride_ += kLine;
    copy_ = Memory(Device::cpu(), static_cast<size_t>(rows * stride_) * sizeof(float));
  }

  // The memory that is read: `data`, or a copy of it.
  const float* prepared(Executor& executor, const void* data) const {
    const auto* const from = static_cast<const float*>(data);
    if (!copy_) return from;
    auto* const to = static_cast<float*>(copy_.data());
    const int64_t rows_a_block = std::max<int64_t>(1, kCopied / columns_);
    executor.parallel_for(ceil_div(rows_, rows_a_block), [&](int64_t block) {
      const int64_t end = std::min(rows_, (block + 1) * rows_a_block);
      for (int64_t row = block * rows_a_block; row < end; ++row) {
        std::memcpy(to + row * stride_, from + row * given_, static_cast<size_t>(columns_) * sizeof(float));
      }
    });
    return to;
  }
  int64_t stride() const { return stride_; }
  size_t bytes() const { return copy_.bytes(); }

 private:
  static constexpr int64_t kCopied = 65536;  // values that a task copies

  int64_t rows_, columns_, given_, stride_;
  Memory copy_;
};

class SgemmGemm final : public Gemm {
 public:
  explicit SgemmGemm(const GemmSpec& spec)
      : spec_(spec),
        grid_(spec.m, spec.n, spec.k, limits(spec)),
        columns_of_a_(spec.k, spec.m, spec.lda, spec.transpose_a ? spec.n : 0),
        columns_of_b_(spec.k, spec.n, spec.ldb, spec.transpose_b ? 0 : spec.m) {
    spec_.lda = columns_of_a_.stride();
    spec_.ldb = columns_of_b_.stride();
  }

  void run(Context& context, const GemmArgs& given) override {
    first_run_.require_code_memory();
    Executor& executor = context.executor();
    executor.run([&] {
      GemmArgs args = given;
      args.a = columns_of_a_.prepared(executor, given.a);
      args.b = columns_of_b_.prepared(executor, given.b);
      executor.parallel_for(grid_.count(), [&](int64_t index) { run_tile(args, grid_.tile(index)); });
    });
  }
  size_t bytes() const override { return columns_of_a_.bytes() + columns_of_b_.bytes(); }

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
                              tile.columns, "): ", status_text(status)));
    }
  }

  GemmSpec spec_;  // with the strides of the copies
  TileGrid grid_;
  ColumnOperand columns_of_a_, columns_of_b_;
  FirstRun first_run_;
};

}  // namespace

std::unique_ptr<Gemm> make_sgemm_gemm(Context&, const GemmSpec& spec) { return std::make_unique<SgemmGemm>(spec); }

}  // namespace millrace::cpu
