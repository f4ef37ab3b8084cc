#include <algorithm>
#include <array>
#include <vector>

#include "millrace/core/kernels/epilogue.h"
#include "millrace/core/kernels/gemm_cpu.h"
#include "millrace/core/sizes.h"

namespace millrace::cpu {

namespace {

// A task has about this many multiplications.
constexpr int64_t kTask = 32768;

// Sums in 16 lanes, and joins them as a tree; lane l has the elements l, l + 16, ... So registers of any width give the
// same bits.
float dot(const float* x, const float* y, int64_t count) {
  constexpr int64_t kLanes = 16;
  std::array<float, kLanes> lanes{};
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (int64_t l = 0; l < kLanes; ++l) lanes[static_cast<size_t>(l)] += x[i + l] * y[i + l];
  }
  for (int64_t l = 0; i + l < count; ++l) lanes[static_cast<size_t>(l)] += x[i + l] * y[i + l];
  for (size_t width = kLanes / 2; width > 0; width /= 2) {
    for (size_t l = 0; l < width; ++l) lanes[l] += lanes[l + width];
  }
  return lanes[0];
}

// A matrix times a vector: one of m and n is 1, the other one is the length of the result.
class VectorGemm final : public Gemm {
 public:
  explicit VectorGemm(const GemmSpec& spec) : spec_(spec) {
    const bool row = spec.m == 1;
    length_ = row ? spec.n : spec.m;
    matrix_stride_ = row ? spec.ldb : spec.lda;
    // Whether each element of the result is a dot product with a row of the stored matrix. Else the result is a
    // weighted sum of the matrix's rows.
    dots_ = row ? spec.transpose_b : !spec.transpose_a;
    const bool contiguous = row ? !spec.transpose_a : spec.transpose_b;
    const int64_t stride = contiguous ? 1 : row ? spec.lda : spec.ldb;
    if (stride != 1) gathered_.resize(static_cast<size_t>(spec.k));
    vector_stride_ = stride;
    result_stride_ = row ? 1 : spec.ldc;
    // If the result is a column, every element gets the same bias.
    bias_step_ = row ? 1 : 0;
    block_ = dots_ ? std::clamp<int64_t>(kTask / spec.k, 1, kMostBlock) : kMostBlock;
  }

  void run(Context& context, const GemmArgs& args) override {
    const bool row = spec_.m == 1;
    const float* vector = static_cast<const float*>(row ? args.a : args.b);
    const float* matrix = static_cast<const float*>(row ? args.b : args.a);
    context.executor().run([&] {
      if (vector_stride_ != 1) {
        for (size_t l = 0; l < gathered_.size(); ++l) gathered_[l] = vector[static_cast<int64_t>(l) * vector_stride_];
        vector = gathered_.data();
      }
      context.executor().parallel_for(ceil_div(length_, block_), [&](int64_t block) {
        const int64_t begin = block * block_;
        run_block(args, matrix, vector, begin, std::min(block_, length_ - begin));
      });
    });
  }

  size_t bytes() const override { return gathered_.size() * sizeof(float); }

 private:
  static constexpr int64_t kMostBlock = 256;
  using Sums = std::array<float, kMostBlock>;

  void run_block(const GemmArgs& args, const float* matrix, const float* vector, int64_t begin, int64_t count) const {
    Sums sums;
    if (dots_) {
      for (int64_t i = 0; i < count; ++i) {
        sums[static_cast<size_t>(i)] = dot(matrix + (begin + i) * matrix_stride_, vector, spec_.k);
      }
    } else {
      add_rows(matrix + begin, vector, count, sums);
    }
    store(args, sums, begin, count);
  }

  void add_rows(const float* matrix, const float* vector, int64_t count, Sums& sums) const {
    std::fill_n(sums.begin(), count, 0.0f);
    float* const out = sums.data();
    int64_t l = 0;
    for (; l + 4 <= spec_.k; l += 4) {
      const float* rows = matrix + l * matrix_stride_;
      const float v0 = vector[l], v1 = vector[l + 1], v2 = vector[l + 2], v3 = vector[l + 3];
      for (int64_t j = 0; j < count; ++j) {
        const float* column = rows + j;
        out[j] = (((out[j] + v0 * column[0]) + v1 * column[matrix_stride_]) + v2 * column[2 * matrix_stride_]) +
                 v3 * column[3 * matrix_stride_];
      }
    }
    for (; l < spec_.k; ++l) {
      for (int64_t j = 0; j < count; ++j) out[j] += vector[l] * matrix[l * matrix_stride_ + j];
    }
  }

  void store(const GemmArgs& args, const Sums& sums, int64_t begin, int64_t count) const {
    const float alpha = alpha_of<float>(args);
    const float* bias = spec_.bias ? static_cast<const float*>(args.bias) + begin * bias_step_ : nullptr;
    float* c = static_cast<float*>(args.c) + begin * result_stride_;
    if (result_stride_ == 1 && bias_step_ == 1) {
      store_row(sums.data(), alpha, spec_.beta, bias, spec_.activation, count, c);
      return;
    }
    for (int64_t i = 0; i < count; ++i) {
      store_row(&sums[static_cast<size_t>(i)], alpha, spec_.beta, bias == nullptr ? nullptr : bias + i * bias_step_,
                spec_.activation, 1, c + i * result_stride_);
    }
  }

  GemmSpec spec_;
  int64_t length_ = 0, matrix_stride_ = 0, vector_stride_ = 1, result_stride_ = 1, bias_step_ = 1, block_ = 1;
  bool dots_ = false;
  std::vector<float> gathered_;  // the vector, if it is not contiguous
};

// k is 1: every row of c is b times an element of a.
class OuterGemm final : public Gemm {
 public:
  explicit OuterGemm(const GemmSpec& spec) : spec_(spec), block_(std::max<int64_t>(1, kTask / spec.n)) {
    if (spec.transpose_b && spec.ldb != 1) gathered_.resize(static_cast<size_t>(spec.n));
  }

  void run(Context& context, const GemmArgs& args) override {
    const float* b = static_cast<const float*>(args.b);
    context.executor().run([&] {
      if (!gathered_.empty()) {
        for (size_t j = 0; j < gathered_.size(); ++j) gathered_[j] = b[static_cast<int64_t>(j) * spec_.ldb];
        b = gathered_.data();
      }
      context.executor().parallel_for(ceil_div(spec_.m, block_), [&](int64_t block) {
        const int64_t end = std::min(spec_.m, (block + 1) * block_);
        for (int64_t i = block * block_; i < end; ++i) store(args, b, i);
      });
    });
  }

  size_t bytes() const override { return gathered_.size() * sizeof(float); }

 private:
  void store(const GemmArgs& args, const float* b, int64_t row) const {
    const float factor =
        alpha_of<float>(args) * static_cast<const float*>(args.a)[row * (spec_.transpose_a ? 1 : spec_.lda)];
    const float* bias = spec_.bias ? static_cast<const float*>(args.bias) : nullptr;
    store_row(b, factor, spec_.beta, bias, spec_.activation, spec_.n, static_cast<float*>(args.c) + row * spec_.ldc);
  }

  GemmSpec spec_;
  int64_t block_;
  std::vector<float> gathered_;  // b, if it is not contiguous
};

}  // namespace

std::unique_ptr<Gemm> make_narrow_gemm(Context&, const GemmSpec& spec) {
  if (spec.k == 1) return std::make_unique<OuterGemm>(spec);
  return std::make_unique<VectorGemm>(spec);
}

}  // namespace millrace::cpu
