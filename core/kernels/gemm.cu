// Matrix products on CUDA, by cuBLASLt. Products with vectors are in gemm_narrow.cu.
//
// cuBLASLt takes column-major matrices. A row-major matrix is its own transpose in column-major order, so the library
// computes the transposed product: c^T = op(b)^T op(a)^T. The algorithm is the first of the library's own list that
// sums in one order. The library adds the bias, but does not apply the rectifier: its rectifier turns a NaN into 0 and
// would hide a model that diverges.
#include <algorithm>
#include <array>
#include <optional>
#include <span>

#include "millrace/core/cuda/cublaslt.h"
#include "millrace/core/cuda/kernels.h"
#include "millrace/core/cuda/state.h"
#include "millrace/core/errors.h"
#include "millrace/core/export.h"
#include "millrace/core/library_call.h"
#include "millrace/core/parallel.h"
#include "millrace/core/tensor.h"
#include "millrace/core/text.h"

namespace millrace::cuda {

namespace {

// Every operand's address is a multiple of this.
constexpr uint32_t kAlignment = 16;
constexpr int kCandidates = 32;

// Converts alpha to double, for a product of doubles.
struct Widen {
  const float* alpha;
  double* wide;
  MILLRACE_HD void operator()(int64_t) const { *wide = static_cast<double>(*alpha); }
};

// Does what the library leaves to do: applies the activation, and adds the bias unless the library did (then it is
// null).
template <class T>
struct Finish {
  T* c;
  const T* bias;
  int64_t columns, stride;
  FusedActivation activation;
  MILLRACE_HD void operator()(int64_t i) const {
    const int64_t column = i % columns;
    T& value = c[i / columns * stride + column];
    const T sum = bias != nullptr ? value + bias[column] : value;
    value = activated(sum, activation);
  }
};

class LtGemm final : public Gemm {
 public:
  LtGemm(Context& context, const GemmSpec& spec)
      : spec_(spec),
        precision_(context.precision()),
        lt_(context.cuda().cublaslt()),
        type_(spec.dtype == DType::f64 ? CUDA_R_64F : CUDA_R_32F),
        first_(spec.transpose_b ? lt_.make_layout(type_, spec.k, spec.n, spec.ldb)
                                : lt_.make_layout(type_, spec.n, spec.k, spec.ldb)),
        second_(spec.transpose_a ? lt_.make_layout(type_, spec.m, spec.k, spec.lda)
                                 : lt_.make_layout(type_, spec.k, spec.m, spec.lda)),
        result_(lt_.make_layout(type_, spec.n, spec.m, spec.ldc)),
        scalars_(context.device(), 2 * sizeof(double)),
        host_(plan(CUBLASLT_POINTER_MODE_HOST)),
        device_(plan(CUBLASLT_POINTER_MODE_DEVICE)) {
    if (host_.workspace + device_.workspace > 0) workspace_ = context.cuda().workspace();
    const double beta = static_cast<double>(spec.beta);
    const bool wide = spec.dtype == DType::f64;
    context.copy(static_cast<double*>(scalars_.data()) + 1, wide ? static_cast<const void*>(&beta) : &spec_.beta,
                 wide ? sizeof beta : sizeof spec_.beta);
    context.synchronize();
  }

  void run(Context& context, const GemmArgs& args) override {
    const auto addresses = reinterpret_cast<uintptr_t>(args.a) | reinterpret_cast<uintptr_t>(args.b) |
                           reinterpret_cast<uintptr_t>(args.c) | reinterpret_cast<uintptr_t>(args.bias);
    if (addresses % kAlignment != 0) {
      throw InternalError(cat("a matrix product on ", context.device().text(),
                              " needs addresses that are multiples of ", kAlignment, " bytes"));
    }
    State& state = context.cuda();
    const DeviceGuard guard(state.device());
    const Plan& plan = args.alpha != nullptr ? device_ : host_;
    if (plan.adds_bias) {
      MILLRACE_CUBLASLT_CHECK(
          lt_, lt_.product_set(plan.product.get(), CUBLASLT_MATMUL_DESC_BIAS_POINTER, &args.bias, sizeof args.bias));
    }
    const double one = 1, beta = static_cast<double>(spec_.beta);
    const float one_f32 = 1;
    const bool wide = spec_.dtype == DType::f64;
    const void* alpha = wide ? static_cast<const void*>(&one) : &one_f32;
    const void* beta_at = wide ? static_cast<const void*>(&beta) : &spec_.beta;
    if (args.alpha != nullptr) {
      alpha = alpha_on_device(state, args.alpha);
      beta_at = static_cast<const double*>(scalars_.data()) + 1;
    }
    void* const workspace = workspace_ != nullptr ? workspace_->data() : nullptr;
    {
      const LibraryCall mark;
      MILLRACE_CUBLASLT_CHECK(lt_, lt_.matmul(lt_.handle(), plan.product.get(), alpha, args.b, first_.get(), args.a,
                                              second_.get(), beta_at, args.c, result_.get(), args.c, result_.get(),
                                              &plan.algorithm, workspace, plan.workspace, state.stream()));
    }
    finish(state, args, spec_.bias && !plan.adds_bias);
  }

  // The workspace is shared: shared_workspace_bytes().
  size_t bytes() const override { return scalars_.bytes(); }

 private:
  // Alpha and beta lie together on the host or on the device, and algorithms differ between the two.
  struct Plan {
    CublasLt::Product product;
    bool adds_bias = false;
    cublasLtMatmulAlgo_t algorithm{};
    size_t workspace = 0;
  };

  Plan plan(cublasLtPointerMode_t mode) const {
    if (spec_.dtype == DType::f64) {
      if (auto found = try_plan(mode, CUBLAS_COMPUTE_64F)) return std::move(*found);
    } else {
      // A GPU without units for TF32 has no algorithm for it.
      if (precision_ == Precision::tf32) {
        if (auto found = try_plan(mode, CUBLAS_COMPUTE_32F_FAST_TF32)) return std::move(*found);
      }
      if (auto found = try_plan(mode, CUBLAS_COMPUTE_32F)) return std::move(*found);
    }
    throw DeviceError(cat("cuBLASLt has no way to a product of ", spec_.m, " x ", spec_.k, " and ", spec_.k, " x ",
                          spec_.n, ' ', to_string(spec_.dtype), " values that always sums in one order"),
                      {},
                      cat(lt_.library().path(), " is version ", lt_.get_version(), "; use another, or device: cpu"));
  }

  std::optional<Plan> try_plan(cublasLtPointerMode_t mode, cublasComputeType_t compute) const {
    // Doubles are only for checks of gradients, so their bias is always added by our own kernel.
    if (spec_.bias && spec_.dtype == DType::f32) {
      if (auto found = try_plan(mode, compute, CUBLASLT_EPILOGUE_BIAS)) return found;
    }
    return try_plan(mode, compute, CUBLASLT_EPILOGUE_DEFAULT);
  }

  std::optional<Plan> try_plan(cublasLtPointerMode_t mode, cublasComputeType_t compute,
                               cublasLtEpilogue_t epilogue) const {
    Plan plan{.product = lt_.make_product(compute, type_)};
    const auto set = [&](cublasLtMatmulDescAttributes_t attribute, const auto& value) {
      MILLRACE_CUBLASLT_CHECK(lt_, lt_.product_set(plan.product.get(), attribute, &value, sizeof value));
    };
    set(CUBLASLT_MATMUL_DESC_POINTER_MODE, static_cast<int32_t>(mode));
    set(CUBLASLT_MATMUL_DESC_TRANSA, static_cast<int32_t>(spec_.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N));
    set(CUBLASLT_MATMUL_DESC_TRANSB, static_cast<int32_t>(spec_.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N));
    set(CUBLASLT_MATMUL_DESC_EPILOGUE, static_cast<uint32_t>(epilogue));
    // The search reads only the alignment of this address; run() gives the true address.
    plan.adds_bias = epilogue == CUBLASLT_EPILOGUE_BIAS;
    if (plan.adds_bias) set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, scalars_.data());

    std::array<cublasLtMatmulHeuristicResult_t, kCandidates> results{};
    int found = 0;
    const cublasStatus_t status =
        lt_.heuristic(lt_.handle(), plan.product.get(), first_.get(), second_.get(), result_.get(), result_.get(),
                      preference().get(), kCandidates, results.data(), &found);
    // Only these failures are permanent. After another one, such as a lack of memory, no other algorithm may be tried:
    // it would give other bits.
    if (status == CUBLAS_STATUS_NOT_SUPPORTED || status == CUBLAS_STATUS_ARCH_MISMATCH) return std::nullopt;
    lt_.check(status, {"cublasLtMatmulAlgoGetHeuristic(..)", __FILE__, __LINE__});
    for (const cublasLtMatmulHeuristicResult_t& result : std::span(results).first(static_cast<size_t>(found))) {
      if (result.state != CUBLAS_STATUS_SUCCESS || !keeps_one_order(result.algo)) continue;
      plan.algorithm = result.algo;
      plan.workspace = result.workspaceSize;
      return plan;
    }
    return std::nullopt;
  }

  CublasLt::Preference preference() const {
    CublasLt::Preference preference = lt_.make_preference();
    const auto set = [&](cublasLtMatmulPreferenceAttributes_t attribute, const auto& value) {
      MILLRACE_CUBLASLT_CHECK(lt_, lt_.preference_set(preference.get(), attribute, &value, sizeof value));
    };
    set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, uint64_t{kWorkspaceBytes});
    set(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
        static_cast<uint32_t>(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE | CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE));
    for (auto attribute : {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
                           CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES}) {
      set(attribute, kAlignment);
    }
    return preference;
  }

  // In place, the parts of a sum are added in the order in which they happen to end.
  bool keeps_one_order(const cublasLtMatmulAlgo_t& algorithm) const {
    uint32_t scheme = CUBLASLT_REDUCTION_SCHEME_INPLACE;
    size_t written = 0;
    MILLRACE_CUBLASLT_CHECK(lt_, lt_.algorithm_attribute(&algorithm, CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME, &scheme,
                                                         sizeof scheme, &written));
    return (scheme & CUBLASLT_REDUCTION_SCHEME_INPLACE) == 0;
  }

  const void* alpha_on_device(State& state, const float* alpha) const {
    if (spec_.dtype == DType::f32) return alpha;
    auto* wide = static_cast<double*>(scalars_.data());
    launch_for_each(state, 1, Widen{alpha, wide});
    return wide;
  }

  void finish(State& state, const GemmArgs& args, bool add_bias) const {
    if (spec_.activation == FusedActivation::none && !add_bias) return;
    dispatch_float(spec_.dtype, [&]<class T>() {
      const T* bias = add_bias ? static_cast<const T*>(args.bias) : nullptr;
      launch_for_each(state, spec_.m * spec_.n,
                      Finish<T>{static_cast<T*>(args.c), bias, spec_.n, spec_.ldc, spec_.activation});
    });
  }

  GemmSpec spec_;
  Precision precision_;
  const CublasLt& lt_;
  cudaDataType_t type_;
  CublasLt::Layout first_, second_, result_;
  // On the device: alpha as double, then beta in the product's type. The library must not read c if this beta is 0; the
  // test CudaGemm.HoldsInEveryForm checks that with NaN in c.
  Memory scalars_;
  Plan host_, device_;
  std::shared_ptr<const Memory> workspace_;  // null if no algorithm needs one
};

}  // namespace

std::unique_ptr<Gemm> make_gemm(Context& context, const GemmSpec& spec) {
  const DeviceGuard guard(context.cuda().device());
  const bool narrow = spec.m == 1 || spec.n == 1 || spec.k == 1;
  if (narrow && spec.dtype == DType::f32) return make_narrow_gemm(context, spec);
  return std::make_unique<LtGemm>(context, spec);
}

}  // namespace millrace::cuda
