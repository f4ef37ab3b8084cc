// A stand-in for cuBLASLt, opened like the real one: products as plain loops on the emulated GPU. Its first proposal
// always adds up in place, which nobody should take.
#include <cublasLt.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "tests/emulated_gpu/emulated_gpu.h"

namespace {

using millrace::emulation::require_on_device;
using millrace::emulation::violation;

constexpr size_t kWorkspace = 4096;

struct Product {
  cublasComputeType_t compute;
  cudaDataType_t type;
  int32_t pointer_mode = CUBLASLT_POINTER_MODE_HOST;
  int32_t transpose_a = CUBLAS_OP_N, transpose_b = CUBLAS_OP_N;
  uint32_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  const void* bias = nullptr;
};

struct Layout {
  cudaDataType_t type;
  uint64_t rows, columns;
  int64_t leading;

  uint64_t bytes() const {
    return ((columns - 1) * static_cast<uint64_t>(leading) + rows) * (type == CUDA_R_64F ? 8 : 4);
  }
};

struct Preference {
  uint64_t workspace = 0;
};

struct Algorithm {
  uint32_t scheme, marker;
};
constexpr uint32_t kMarker = 0xa190;

template <class T>
const T& as(const void* handle) {
  return *static_cast<const T*>(handle);
}
template <class T>
T& as(void* handle) {
  return *static_cast<T*>(handle);
}

template <class T>
struct Operands {
  const T *a, *b, *c, *bias;
  T* d;
  const T *alpha, *beta;
  T host_alpha, host_beta;
  Product product;
  Layout la, lb, lc;

  void operator()() const {
    const T by = alpha != nullptr ? *alpha : host_alpha, keep = beta != nullptr ? *beta : host_beta;
    const uint64_t depth = product.transpose_a == CUBLAS_OP_N ? la.columns : la.rows;
    std::vector<double> sums(lc.rows);
    for (uint64_t column = 0; column < lc.columns; ++column) {
      std::fill(sums.begin(), sums.end(), 0.0);
      for (uint64_t k = 0; k < depth; ++k) {
        const double factor = rounded(at(b, lb, k, column, product.transpose_b));
        const T* const values = a + (product.transpose_a == CUBLAS_OP_N ? k * static_cast<uint64_t>(la.leading) : k);
        const auto apart = product.transpose_a == CUBLAS_OP_N ? 1 : static_cast<uint64_t>(la.leading);
        for (uint64_t row = 0; row < lc.rows; ++row) sums[row] += rounded(values[row * apart]) * factor;
      }
      for (uint64_t row = 0; row < lc.rows; ++row) {
        const double sum = sums[row];
        const uint64_t i = row + column * static_cast<uint64_t>(lc.leading);
        T value = by * static_cast<T>(sum);
        if (keep != T(0)) value += keep * c[i];
        if (bias != nullptr) value += bias[row];
        d[i] = value;
      }
    }
  }

  // As TF32, where that is wanted.
  double rounded(T value) const {
    if (product.compute != CUBLAS_COMPUTE_32F_FAST_TF32) return static_cast<double>(value);
    int exponent = 0;
    const double digits = std::frexp(static_cast<double>(value), &exponent);
    return std::ldexp(std::nearbyint(std::ldexp(digits, 11)), exponent - 11);
  }

  static T at(const T* matrix, const Layout& layout, uint64_t row, uint64_t column, int32_t transposed) {
    if (transposed != CUBLAS_OP_N) std::swap(row, column);
    return matrix[row + column * static_cast<uint64_t>(layout.leading)];
  }
};

struct Call {
  const Product& product;
  const void *alpha, *a, *b, *beta, *c;
  void* d;
  const Layout &la, &lb, &lc;
  void* workspace;
  size_t workspace_bytes;
  cudaStream_t stream;

  template <class T>
  cublasStatus_t run() const {
    Operands<T> operands{static_cast<const T*>(a),
                         static_cast<const T*>(b),
                         static_cast<const T*>(c),
                         product.epilogue == CUBLASLT_EPILOGUE_BIAS ? static_cast<const T*>(product.bias) : nullptr,
                         static_cast<T*>(d),
                         nullptr,
                         nullptr,
                         T(0),
                         T(0),
                         product,
                         la,
                         lb,
                         lc};
    if (product.pointer_mode == CUBLASLT_POINTER_MODE_DEVICE) {
      require_on_device(alpha, sizeof(T), "a product's alpha");
      require_on_device(beta, sizeof(T), "a product's beta");
      operands.alpha = static_cast<const T*>(alpha);
      operands.beta = static_cast<const T*>(beta);
    } else {
      operands.host_alpha = *static_cast<const T*>(alpha);
      operands.host_beta = *static_cast<const T*>(beta);
    }
    millrace::emulation::enqueue(stream, [operands, space = workspace, bytes = workspace_bytes] {
      std::memset(space, 0xff, bytes);
      operands();
    });
    return CUBLAS_STATUS_SUCCESS;
  }
};

}  // namespace

extern "C" {

#define MILLRACE_SHOWN __attribute__((visibility("default")))

MILLRACE_SHOWN cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  *handle = reinterpret_cast<cublasLtHandle_t>(new int);
  return CUBLAS_STATUS_SUCCESS;
}
MILLRACE_SHOWN cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  delete reinterpret_cast<int*>(handle);
  return CUBLAS_STATUS_SUCCESS;
}
MILLRACE_SHOWN size_t cublasLtGetVersion() { return CUBLAS_VERSION; }
MILLRACE_SHOWN const char* cublasLtGetStatusString(cublasStatus_t) { return "a status of the emulated library"; }

MILLRACE_SHOWN cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* out, cublasComputeType_t compute,
                                                       cudaDataType_t type) {
  *out = reinterpret_cast<cublasLtMatmulDesc_t>(new Product{.compute = compute, .type = type});
  return CUBLAS_STATUS_SUCCESS;
}
MILLRACE_SHOWN cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t product) {
  delete reinterpret_cast<Product*>(product);
  return CUBLAS_STATUS_SUCCESS;
}
MILLRACE_SHOWN cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t handle,
                                                             cublasLtMatmulDescAttributes_t attribute,
                                                             const void* value, size_t) {
  auto& product = as<Product>(static_cast<void*>(handle));
  switch (attribute) {
    case CUBLASLT_MATMUL_DESC_POINTER_MODE: product.pointer_mode = as<int32_t>(value); break;
    case CUBLASLT_MATMUL_DESC_TRANSA: product.transpose_a = as<int32_t>(value); break;
    case CUBLASLT_MATMUL_DESC_TRANSB: product.transpose_b = as<int32_t>(value); break;
    case CUBLASLT_MATMUL_DESC_EPILOGUE: product.epilogue = as<uint32_t>(value); break;
    case CUBLASLT_MATMUL_DESC_BIAS_POINTER: product.bias = as<const void*>(value); break;
    default: return CUBLAS_STATUS_NOT_SUPPORTED;
  }
  return CUBLAS_STATUS_SUCCESS;
}

MILLRACE_SHOWN cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* out, cudaDataType_t type,
                                                         uint64_t rows, uint64_t columns, int64_t leading) {
  if (leading < static_cast<int64_t>(rows)) return CUBLAS_STATUS_INVALID_VALUE;
  *out = reinterpret_cast<cublasLtMatrixLayout_t>(new Layout{type, rows, columns, leading});
  return CUBLAS_STATUS_SUCCESS;
}
MILLRACE_SHOWN cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  delete reinterpret_cast<Layout*>(layout);
  return CUBLAS_STATUS_SUCCESS;
}

MILLRACE_SHOWN cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* out) {
  *out = reinterpret_cast<cublasLtMatmulPreference_t>(new Preference);
  return CUBLAS_STATUS_SUCCESS;
}
MILLRACE_SHOWN cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  delete reinterpret_cast<Preference*>(preference);
  return CUBLAS_STATUS_SUCCESS;
}
MILLRACE_SHOWN cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                                   cublasLtMatmulPreferenceAttributes_t attribute,
                                                                   const void* value, size_t) {
  if (attribute == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES) {
    as<Preference>(static_cast<void*>(preference)).workspace = as<uint64_t>(value);
  }
  return CUBLAS_STATUS_SUCCESS;
}

MILLRACE_SHOWN cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t,
                                                             cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                                             cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                                             cublasLtMatmulPreference_t preference, int wanted,
                                                             cublasLtMatmulHeuristicResult_t results[], int* found) {
  if (const int status = millrace::emulation::take_plan_failure()) return static_cast<cublasStatus_t>(status);
  const uint32_t schemes[] = {CUBLASLT_REDUCTION_SCHEME_INPLACE, CUBLASLT_REDUCTION_SCHEME_NONE};
  *found = std::min(wanted, 2);
  for (int i = 0; i < *found; ++i) {
    results[i] = {};
    const Algorithm algorithm{schemes[i], kMarker};
    std::memcpy(&results[i].algo, &algorithm, sizeof algorithm);
    results[i].workspaceSize = std::min<size_t>(kWorkspace, as<Preference>(static_cast<void*>(preference)).workspace);
    results[i].state = CUBLAS_STATUS_SUCCESS;
  }
  return CUBLAS_STATUS_SUCCESS;
}

MILLRACE_SHOWN cublasStatus_t cublasLtMatmulAlgoConfigGetAttribute(const cublasLtMatmulAlgo_t* algorithm,
                                                                   cublasLtMatmulAlgoConfigAttributes_t attribute,
                                                                   void* value, size_t, size_t* written) {
  if (attribute != CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME) return CUBLAS_STATUS_NOT_SUPPORTED;
  as<uint32_t>(value) = as<Algorithm>(static_cast<const void*>(algorithm)).scheme;
  *written = sizeof(uint32_t);
  return CUBLAS_STATUS_SUCCESS;
}

MILLRACE_SHOWN cublasStatus_t cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t handle, const void* alpha,
                                             const void* a, cublasLtMatrixLayout_t layout_a, const void* b,
                                             cublasLtMatrixLayout_t layout_b, const void* beta, const void* c,
                                             cublasLtMatrixLayout_t, void* d, cublasLtMatrixLayout_t layout_d,
                                             const cublasLtMatmulAlgo_t* algorithm, void* workspace,
                                             size_t workspace_bytes, cudaStream_t stream) {
  const auto& product = as<Product>(static_cast<const void*>(handle));
  const auto &la = as<Layout>(static_cast<const void*>(layout_a)), &lb = as<Layout>(static_cast<const void*>(layout_b)),
             &ld = as<Layout>(static_cast<const void*>(layout_d));
  const auto& chosen = as<Algorithm>(static_cast<const void*>(algorithm));
  if (chosen.marker != kMarker) return CUBLAS_STATUS_INVALID_VALUE;
  if (chosen.scheme == CUBLASLT_REDUCTION_SCHEME_INPLACE) violation("a product that adds up in place is taken");
  require_on_device(a, la.bytes(), "a product's first operand");
  require_on_device(b, lb.bytes(), "a product's second operand");
  require_on_device(d, ld.bytes(), "a product's result");
  require_on_device(workspace, workspace_bytes, "a product's workspace");
  if (workspace_bytes < kWorkspace) violation("a product's workspace is too small");
  if (product.epilogue == CUBLASLT_EPILOGUE_BIAS) {
    require_on_device(product.bias, ld.rows * (ld.type == CUDA_R_64F ? 8 : 4), "a product's bias");
  }
  millrace::emulation::count_library_call();
  const Call call{product, alpha, a, b, beta, c, d, la, lb, ld, workspace, workspace_bytes, stream};
  return product.type == CUDA_R_64F ? call.run<double>() : call.run<float>();
}

}  // extern "C"
