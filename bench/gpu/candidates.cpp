#include "bench/gpu/candidates.h"

#include <array>
#include <span>
#include <utility>

#include "bench/gpu/engines.h"
#include "bench/gpu/rates.h"
#include "millrace/core/cuda/check.h"
#include "millrace/core/cuda/cublaslt.h"
#include "millrace/core/cuda/state.h"
#include "millrace/core/errors.h"
#include "millrace/core/replay.h"
#include "millrace/core/text.h"
#include "millrace/core/utf8.h"

namespace millrace::bench {

namespace {

using cuda::CublasLt;

constexpr int kCandidates = 32;
constexpr int kTimes = 20;  // runs in one graph
constexpr uint64_t kWorkspaceBytes = uint64_t{32} << 20;
constexpr uint32_t kAlignment = 16;

constexpr std::pair<const char*, cublasLtMatmulAlgoConfigAttributes_t> kAttributes[] = {
    {"algorithm", CUBLASLT_ALGO_CONFIG_ID},
    {"tile", CUBLASLT_ALGO_CONFIG_TILE_ID},
    {"stages", CUBLASLT_ALGO_CONFIG_STAGES_ID},
    {"split_k", CUBLASLT_ALGO_CONFIG_SPLITK_NUM},
    {"scheme", CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME}};

// A product of row-major operands, which are read as column-major, as in core/kernels/gemm.cu.
struct Product {
  const char* name;
  int64_t m, n, k;
  bool forward;  // rows times transposed weights plus bias; else a gradient that is added to the weights
};

class Candidates {
 public:
  Candidates(Context& context, const Product& product, cublasComputeType_t compute)
      : context_(context),
        lt_(context.cuda().cublaslt()),
        forward_(product.forward),
        description_(lt_.make_product(compute, CUDA_R_32F)),
        first_(product.forward ? lt_.make_layout(CUDA_R_32F, product.k, product.n, product.k)
                               : lt_.make_layout(CUDA_R_32F, product.n, product.k, product.n)),
        second_(product.forward ? lt_.make_layout(CUDA_R_32F, product.k, product.m, product.k)
                                : lt_.make_layout(CUDA_R_32F, product.m, product.k, product.m)),
        result_(lt_.make_layout(CUDA_R_32F, product.n, product.m, product.n)),
        a_(drawn_floats(context, product.m * product.k)),
        b_(drawn_floats(context, product.k * product.n)),
        c_(drawn_floats(context, product.m * product.n)),
        bias_(drawn_floats(context, product.n)),
        scalars_(context.device(), 2 * sizeof(float)),
        workspace_(context.cuda().workspace()) {
    const auto set = [&](cublasLtMatmulDescAttributes_t attribute, const auto& value) {
      MILLRACE_CUBLASLT_CHECK(lt_, lt_.product_set(description_.get(), attribute, &value, sizeof value));
    };
    set(CUBLASLT_MATMUL_DESC_POINTER_MODE,
        int32_t{forward_ ? CUBLASLT_POINTER_MODE_HOST : CUBLASLT_POINTER_MODE_DEVICE});
    set(CUBLASLT_MATMUL_DESC_TRANSA, int32_t{forward_ ? CUBLAS_OP_T : CUBLAS_OP_N});
    set(CUBLASLT_MATMUL_DESC_TRANSB, int32_t{forward_ ? CUBLAS_OP_N : CUBLAS_OP_T});
    if (forward_) {
      set(CUBLASLT_MATMUL_DESC_EPILOGUE, uint32_t{CUBLASLT_EPILOGUE_BIAS});
      set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias_.data());
    }
    const std::array<float, 2> scalars = {-1e-3F, 1};
    context.copy(scalars_.data(), scalars.data(), sizeof scalars);
  }

  std::string json() {
    std::string out;
    bool taken = false;
    for (const cublasLtMatmulHeuristicResult_t& candidate : found()) {
      const bool keeps_order =
          (attribute(candidate, CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME) & CUBLASLT_REDUCTION_SCHEME_INPLACE) == 0;
      if (candidate.state != CUBLAS_STATUS_SUCCESS || !keeps_order) continue;
      out += cat(out.empty() ? "" : ", ", '{', timed_or_why_not([&] { return time(candidate); }),
                 ", \"taken\": ", taken ? "false" : "true", ", \"waves\": ", candidate.wavesCount,
                 ", \"workspace\": ", candidate.workspaceSize);
      for (const auto& [name, which] : kAttributes) out += cat(", \"", name, "\": ", attribute(candidate, which));
      out += '}';
      taken = true;
    }
    return out;
  }

 private:
  std::vector<cublasLtMatmulHeuristicResult_t> found() const {
    const auto preference = lt_.make_preference();
    const auto set = [&](cublasLtMatmulPreferenceAttributes_t attribute, const auto& value) {
      MILLRACE_CUBLASLT_CHECK(lt_, lt_.preference_set(preference.get(), attribute, &value, sizeof value));
    };
    set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, kWorkspaceBytes);
    set(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
        static_cast<uint32_t>(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE | CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE));
    for (auto operand : {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
                         CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES}) {
      set(operand, kAlignment);
    }
    std::vector<cublasLtMatmulHeuristicResult_t> results(kCandidates);
    int count = 0;
    MILLRACE_CUBLASLT_CHECK(
        lt_, lt_.heuristic(lt_.handle(), description_.get(), first_.get(), second_.get(), result_.get(), result_.get(),
                           preference.get(), kCandidates, results.data(), &count));
    results.resize(static_cast<size_t>(count));
    return results;
  }

  // -1 if the library does not tell.
  int64_t attribute(const cublasLtMatmulHeuristicResult_t& candidate,
                    cublasLtMatmulAlgoConfigAttributes_t which) const {
    uint32_t value = 0;
    size_t written = 0;
    const auto status = lt_.algorithm_attribute(&candidate.algo, which, &value, sizeof value, &written);
    return status == CUBLAS_STATUS_SUCCESS ? int64_t{value} : -1;
  }

  double time(const cublasLtMatmulHeuristicResult_t& candidate) {
    const float one = 1, zero = 0;
    const auto* const on_device = static_cast<const float*>(scalars_.data());
    const float* const alpha = forward_ ? &one : on_device;
    const float* const beta = forward_ ? &zero : on_device + 1;
    Replay replay;
    const auto give = [&] {
      replay.run(context_, [&] {
        for (int i = 0; i < kTimes; ++i) {
          MILLRACE_CUBLASLT_CHECK(
              lt_, lt_.matmul(lt_.handle(), description_.get(), alpha, b_.data(), first_.get(), a_.data(),
                              second_.get(), beta, c_.data(), result_.get(), c_.data(), result_.get(), &candidate.algo,
                              workspace_->data(), candidate.workspaceSize, context_.cuda().stream()));
        }
      });
    };
    for (int i = 0; i < 2; ++i) give();
    const double us = fastest(context_, give) / kTimes;
    context_.synchronize();
    return us;
  }

  Context& context_;
  const CublasLt& lt_;
  bool forward_;
  CublasLt::Product description_;
  CublasLt::Layout first_, second_, result_;
  Memory a_, b_, c_, bias_, scalars_;
  std::shared_ptr<const Memory> workspace_;
};

}  // namespace

std::string timed_or_why_not(FunctionRef<double()> time) {
  try {
    return cat("\"us\": ", time());
  } catch (const Error& error) {
    return cat("\"us\": null, \"failed\": ", json_string(error.message()));
  }
}

std::string list_or_why_not(std::string_view name, FunctionRef<std::string()> list) {
  try {
    return cat('"', name, "\": [", list(), ']');
  } catch (const Error& error) {
    return cat('"', name, "\": [], \"failed\": ", json_string(error.message()));
  }
}

std::string time_candidates(Context& context, bool small) {
  const int64_t batch = small ? 8 : 256, wide = small ? 16 : 1024;
  const Product products[] = {{"product and bias", batch, wide, wide, true},
                              {"weight's gradient and update", wide, wide, batch, false}};
  std::string out;
  for (const Product& product : products) {
    for (const bool tf32 : {true, false}) {
      const auto compute = tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
      out += cat(out.empty() ? "" : ", ", "{\"name\": \"", product.name, "\", \"precision\": \"",
                 tf32 ? "tf32" : "fp32", "\", ");
      out += list_or_why_not("candidates", [&] { return Candidates(context, product, compute).json(); }) + '}';
    }
  }
  return cat("{\"products\": [", out, "], \"convolutions\": ", time_engines(context, small), '}');
}

}  // namespace millrace::bench
