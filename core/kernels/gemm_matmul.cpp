#include <algorithm>
#include <array>
#include <dnnl.hpp>
#include <optional>
#include <string>
#include <vector>

#include "millrace/core/kernels/epilogue.h"
#include "millrace/core/kernels/gemm_cpu.h"
#include "millrace/core/kernels/onednn_planning.h"
#include "millrace/core/kernels/slot_pool.h"
#include "millrace/core/kernels/slot_primitive.h"
#include "millrace/core/kernels/tile_grid.h"
#include "millrace/core/text.h"

namespace millrace::cpu {

namespace {

// bench/model.cpp has a copy.
constexpr TileGrid::Limits kLimits = {256, 128, 64, 64};

class MatmulGemm final : public Gemm {
 public:
  MatmulGemm(Context& context, const GemmSpec& spec)
      : spec_(spec),
        grid_(spec.m, spec.n, spec.k, kLimits),
        threads_(context.executor().threads()),
        slots_(slots_of(grid_)) {
    const std::string what = cat("a product of (", spec.m, ", ", spec.k, ") and (", spec.k, ", ", spec.n, ")");
    plan_inside(context, what, [&](const dnnl::engine& engine) { plan(engine); });
  }

  void run(Context& context, const GemmArgs& args) override {
    first_run_.require_code_memory();
    context.executor().parallel_for(grid_.count(), [&](int64_t index) { run_tile(args, grid_.tile(index)); });
  }

  size_t bytes() const override {
    // A product with fewer rows may have more tiles, or larger ones.
    size_t most = 0;
    for (int64_t m = 1; m <= spec_.m; ++m) {
      const TileGrid grid(m, spec_.n, spec_.k, kLimits);
      most = std::max(most, slots_of(grid) * (sums_bytes_of(grid) + scratch_bytes_));
    }
    return most;
  }

 private:
  size_t slots_of(const TileGrid& grid) const { return static_cast<size_t>(std::min<int64_t>(grid.count(), threads_)); }
  static size_t sums_bytes_of(const TileGrid& grid) {
    return aligned_bytes(static_cast<size_t>(grid.rows() * grid.columns()) * sizeof(float));
  }

  void plan(const dnnl::engine& engine) {
    for (int64_t index = 0; index < grid_.count(); ++index) {
      const Tile tile = grid_.tile(index);
      std::optional<SlotPrimitive>& primitive = primitives_[kind_of(tile)];
      if (!primitive) primitive.emplace(product_of_tiles(engine, tile.rows, tile.columns));
    }
    for (size_t slot = 0; slot < slots_.size(); ++slot) {
      buffers_.emplace_back(Device::cpu(), sums_bytes_of(grid_) + scratch_bytes_);
    }
  }

  // The primitive for tiles of one size.
  SlotPrimitive product_of_tiles(const dnnl::engine& engine, int64_t rows, int64_t columns) {
    using dnnl::memory;
    const auto matrix = [](int64_t height, int64_t width, bool transposed, int64_t stride) {
      const memory::dims strides = transposed ? memory::dims{1, stride} : memory::dims{stride, 1};
      return memory::desc({height, width}, memory::data_type::f32, strides);
    };
    const memory::desc a = matrix(rows, spec_.k, spec_.transpose_a, spec_.lda),
                       b = matrix(spec_.k, columns, spec_.transpose_b, spec_.ldb),
                       c = matrix(rows, columns, false, columns);
    dnnl::primitive_attr attributes;
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    const dnnl::matmul::primitive_desc description(dnnl::matmul::desc(a, b, c), attributes, engine);
    const memory::desc scratchpad = description.scratchpad_desc();
    scratch_bytes_ = std::max(scratch_bytes_, scratchpad.get_size());
    const SlotPrimitive::Arg args[] = {
        {DNNL_ARG_SRC, a}, {DNNL_ARG_WEIGHTS, b}, {DNNL_ARG_DST, c}, {DNNL_ARG_SCRATCHPAD, scratchpad}};
    return {cat("a product of (", rows, ", ", spec_.k, ") and (", spec_.k, ", ", columns, ")"), engine,
            make_primitive<dnnl::matmul>(description), args, slots_.size()};
  }

  // Inner tiles and those at the right or lower edge may differ in size.
  size_t kind_of(const Tile& tile) const {
    return (tile.rows == grid_.rows() ? 0u : 1u) + (tile.columns == grid_.columns() ? 0u : 2u);
  }

  void run_tile(const GemmArgs& args, const Tile& tile) {
    const SlotPool::Lease lease(slots_);
    auto* const buffer = static_cast<char*>(buffers_[lease.slot()].data());
    auto* const sums = reinterpret_cast<float*>(buffer);
    const void* const data[] = {static_cast<const float*>(args.a) + tile.row * (spec_.transpose_a ? 1 : spec_.lda),
                                static_cast<const float*>(args.b) + tile.column * (spec_.transpose_b ? spec_.ldb : 1),
                                sums, buffer + sums_bytes_of(grid_)};
    primitives_[kind_of(tile)]->run(lease.slot(), data);
    store(args, tile, sums);
  }

  void store(const GemmArgs& args, const Tile& tile, const float* sums) const {
    const float alpha = alpha_of<float>(args);
    const float* bias = spec_.bias ? static_cast<const float*>(args.bias) + tile.column : nullptr;
    float* c = static_cast<float*>(args.c) + tile.row * spec_.ldc + tile.column;
    for (int64_t i = 0; i < tile.rows; ++i) {
      store_row(sums + i * tile.columns, alpha, spec_.beta, bias, spec_.activation, tile.columns, c + i * spec_.ldc);
    }
  }

  GemmSpec spec_;
  TileGrid grid_;
  int threads_;
  SlotPool slots_;
  std::array<std::optional<SlotPrimitive>, 4> primitives_;
  FirstRun first_run_;
  size_t scratch_bytes_ = 0;     // of oneDNN, for a tile: it depends only on k, so it is the same for every m
  std::vector<Memory> buffers_;  // one for each slot: the tile's sums, then oneDNN's scratch
};

}  // namespace

std::unique_ptr<Gemm> make_matmul_gemm(Context& context, const GemmSpec& spec) {
  return std::make_unique<MatmulGemm>(context, spec);
}

}  // namespace millrace::cpu
