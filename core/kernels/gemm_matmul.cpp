#include <algorithm>
#include <array>
#include <dnnl.hpp>
#include <optional>
#include <vector>

#include "millrace/core/errors.h"
#include "millrace/core/kernels/epilogue.h"
#include "millrace/core/kernels/gemm_cpu.h"
#include "millrace/core/kernels/onednn_planning.h"
#include "millrace/core/kernels/slot_pool.h"
#include "millrace/core/kernels/tile_grid.h"
#include "millrace/core/library_call.h"
#include "millrace/core/text.h"

namespace millrace::cpu {

namespace {

// Known to bench/model.cpp, too.
constexpr TileGrid::Limits kLimits = {256, 128, 64, 64};

// The primitive for tiles of one size, with what each slot needs to run it.
class TilePrimitive {
 public:
  TilePrimitive(const dnnl::engine& engine, const GemmSpec& spec, int64_t rows, int64_t columns)
      : a_({rows, spec.k}, dnnl::memory::data_type::f32, strides(spec.transpose_a, spec.lda)),
        b_({spec.k, columns}, dnnl::memory::data_type::f32, strides(spec.transpose_b, spec.ldb)),
        c_({rows, columns}, dnnl::memory::data_type::f32, dnnl::memory::dims{columns, 1}) {
    dnnl::primitive_attr attributes;
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    const dnnl::matmul::primitive_desc description(dnnl::matmul::desc(a_, b_, c_), attributes, engine);
    scratchpad_ = description.scratchpad_desc();
    primitive_ = dnnl::matmul(description);
  }

  size_t scratch_bytes() const { return scratchpad_.get_size(); }

  void add_slot(const dnnl::engine& engine) {
    slots_.push_back({dnnl::memory(a_, engine, nullptr), dnnl::memory(b_, engine, nullptr),
                      dnnl::memory(c_, engine, nullptr), dnnl::memory(scratchpad_, engine, nullptr),
                      dnnl::stream(engine)});
  }

  struct Buffers {
    const float* a;
    const float* b;
    float* sums;
    void* scratch;
  };
  dnnl_status_t run(size_t slot, const Buffers& buffers) const {
    const Slot& own = slots_[slot];
    own.a.set_data_handle(const_cast<float*>(buffers.a));
    own.b.set_data_handle(const_cast<float*>(buffers.b));
    own.c.set_data_handle(buffers.sums);
    own.scratchpad.set_data_handle(buffers.scratch);
    const dnnl_exec_arg_t args[] = {{DNNL_ARG_SRC, own.a.get()},
                                    {DNNL_ARG_WEIGHTS, own.b.get()},
                                    {DNNL_ARG_DST, own.c.get()},
                                    {DNNL_ARG_SCRATCHPAD, own.scratchpad.get()}};
    return dnnl_primitive_execute(primitive_.get(), own.stream.get(), static_cast<int>(std::size(args)), args);
  }

 private:
  struct Slot {
    dnnl::memory a, b, c, scratchpad;
    dnnl::stream stream;
  };

  static dnnl::memory::dims strides(bool transposed, int64_t stride) {
    return transposed ? dnnl::memory::dims{1, stride} : dnnl::memory::dims{stride, 1};
  }

  dnnl::memory::desc a_, b_, c_, scratchpad_;
  dnnl::matmul primitive_;
  std::vector<Slot> slots_;
};

class MatmulGemm final : public Gemm {
 public:
  MatmulGemm(Context& context, const GemmSpec& spec)
      : spec_(spec),
        grid_(spec.m, spec.n, spec.k, kLimits),
        threads_(context.executor().threads()),
        slots_(slots_of(grid_)) {
    // The engine and its primitives are made where OpenMP is limited to one thread, as they will run.
    context.executor().run([&] {
      try {
        const LibraryCall mark;
        plan();
      } catch (const dnnl::error& failure) {
        throw InternalError(cat("oneDNN could not plan a product of (", spec_.m, ", ", spec_.k, ") and (", spec_.k,
                                ", ", spec_.n, "): ", failure.what()));
      }
    });
  }

  void run(Context& context, const GemmArgs& args) override {
    context.executor().parallel_for(grid_.count(), [&](int64_t index) { run_tile(args, grid_.tile(index)); });
  }

  size_t bytes() const override {
    // Fewer rows may be cut into larger or more tiles.
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

  void plan() {
    const OneDnnPlanning planning;
    const dnnl::engine& engine = planning.engine();
    for (int64_t index = 0; index < grid_.count(); ++index) {
      const Tile tile = grid_.tile(index);
      std::optional<TilePrimitive>& primitive = primitives_[kind_of(tile)];
      if (primitive) continue;
      primitive.emplace(engine, spec_, tile.rows, tile.columns);
      scratch_bytes_ = std::max(scratch_bytes_, primitive->scratch_bytes());
      for (size_t slot = 0; slot < slots_.size(); ++slot) primitive->add_slot(engine);
    }
    for (size_t slot = 0; slot < slots_.size(); ++slot) {
      buffers_.emplace_back(Device::cpu(), sums_bytes_of(grid_) + scratch_bytes_);
    }
  }

  // Inner tiles and those at the right or lower edge may differ in size.
  size_t kind_of(const Tile& tile) const {
    return (tile.rows == grid_.rows() ? 0u : 1u) + (tile.columns == grid_.columns() ? 0u : 2u);
  }

  void run_tile(const GemmArgs& args, const Tile& tile) {
    const SlotPool::Lease lease(slots_);
    auto* const buffer = static_cast<char*>(buffers_[lease.slot()].data());
    auto* const sums = reinterpret_cast<float*>(buffer);
    const TilePrimitive::Buffers buffers = {
        static_cast<const float*>(args.a) + tile.row * (spec_.transpose_a ? 1 : spec_.lda),
        static_cast<const float*>(args.b) + tile.column * (spec_.transpose_b ? spec_.ldb : 1), sums,
        buffer + sums_bytes_of(grid_)};
    multiply(tile, lease.slot(), buffers);
    store(args, tile, sums);
  }

  void multiply(const Tile& tile, size_t slot, const TilePrimitive::Buffers& buffers) const {
    dnnl_status_t status;
    {
      const LibraryCall mark;
      status = primitives_[kind_of(tile)]->run(slot, buffers);
    }
    if (status != dnnl_success) {
      throw InternalError(cat("oneDNN failed in a product of (", tile.rows, ", ", spec_.k, ") and (", spec_.k, ", ",
                              tile.columns, "): status ", static_cast<int>(status)));
    }
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
  std::array<std::optional<TilePrimitive>, 4> primitives_;
  size_t scratch_bytes_ = 0;     // of the library for a tile: set by k, so the same for every m
  std::vector<Memory> buffers_;  // one a slot: the tile's sums, then oneDNN's scratch
};

}  // namespace

std::unique_ptr<Gemm> make_matmul_gemm(Context& context, const GemmSpec& spec) {
  return std::make_unique<MatmulGemm>(context, spec);
}

}  // namespace millrace::cpu
