// Products on CUDA where m, n or k is 1: dot products, sums of rows, outer products, one kernel each.
#include "millrace/core/cuda/kernels.h"
#include "millrace/core/export.h"
#include "millrace/core/parallel.h"

namespace millrace::cuda {

namespace {

// Makes an element of c from a sum.
template <class T>
struct StoreSum {
  T* c;
  const T* bias;  // null: none
  const float* alpha;
  T beta;
  FusedActivation activation;

  MILLRACE_HD void store(int64_t at, int64_t bias_at, T sum) const {
    T value = alpha != nullptr ? static_cast<T>(*alpha) * sum : sum;
    if (beta != T(0)) value += beta * c[at];
    if (bias != nullptr) value += bias[bias_at];
    c[at] = activated(value, activation);
  }
};

// A vector times a matrix; c has an element for each row, or for each column, of the stored matrix.
template <class T>
struct VectorBody {
  const T* matrix;
  const T* vector;
  int64_t matrix_stride, vector_stride, depth, result_stride, bias_step;
  StoreSum<T> finish;

  MILLRACE_HD void store(int64_t i, T sum) const { finish.store(i * result_stride, i * bias_step, sum); }
  // Element i is the product with row i.
  template <class Lanes>
  MILLRACE_HD void operator()(int64_t i, const Lanes& lanes) const {
    const T* const row = matrix + i * matrix_stride;
    const T sum = lanes.sum(depth, [&](int64_t k) { return row[k] * vector[k * vector_stride]; });
    if (lanes.first()) store(i, sum);
  }
  // Element i is the sum of these.
  MILLRACE_HD T load(int64_t k, int64_t i) const { return matrix[k * matrix_stride + i] * vector[k * vector_stride]; }
  MILLRACE_HD T term(T product, int64_t, int64_t) const { return product; }
};

template <class T>
struct OuterBody {
  const T* a;
  const T* b;
  int64_t a_stride, b_stride, columns, stride;
  StoreSum<T> finish;
  MILLRACE_HD void operator()(int64_t i) const {
    const int64_t row = i / columns, column = i % columns;
    finish.store(row * stride + column, column, a[row * a_stride] * b[column * b_stride]);
  }
};

class NarrowGemm final : public Gemm {
 public:
  explicit NarrowGemm(const GemmSpec& spec) : spec_(spec), dots_(spec.m == 1 ? spec.transpose_b : !spec.transpose_a) {}

  void run(Context& context, const GemmArgs& args) override {
    State& state = context.cuda();
    using T = float;
    const StoreSum<T> finish{static_cast<T*>(args.c), static_cast<const T*>(spec_.bias ? args.bias : nullptr),
                             args.alpha, static_cast<T>(spec_.beta), spec_.activation};
    const T *a = static_cast<const T*>(args.a), *b = static_cast<const T*>(args.b);
    if (spec_.k == 1) {
      launch_for_each(state, spec_.m * spec_.n,
                      OuterBody<T>{a, b, spec_.transpose_a ? 1 : spec_.lda, spec_.transpose_b ? spec_.ldb : 1, spec_.n,
                                   spec_.ldc, finish});
      return;
    }
    const VectorBody<T> body =
        row() ? VectorBody<T>{b, a, spec_.ldb, spec_.transpose_a ? spec_.lda : 1, spec_.k, 1, 1, finish}
              : VectorBody<T>{a, b, spec_.lda, spec_.transpose_b ? 1 : spec_.ldb, spec_.k, spec_.ldc, 0, finish};
    if (dots_) {
      launch_rows(state, length(), lanes_for(spec_.k), body);
    } else {
      launch_columns<T>(state, spec_.k, length(), body, nullptr);
    }
  }

 private:
  // Whether the vector is a.
  bool row() const { return spec_.m == 1; }
  int64_t length() const { return row() ? spec_.n : spec_.m; }

  GemmSpec spec_;
  bool dots_;
};

}  // namespace

std::unique_ptr<Gemm> make_narrow_gemm(Context&, const GemmSpec& spec) { return std::make_unique<NarrowGemm>(spec); }

}  // namespace millrace::cuda
