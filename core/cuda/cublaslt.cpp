#include "millrace/core/cuda/cublaslt.h"

#include "millrace/core/errors.h"
#include "millrace/core/text.h"

namespace millrace::cuda {

// The release of this build's toolkit comes first, because this build was compiled with its headers.
SharedLibrary CublasLt::open() {
  std::vector<std::string> sonames = {"libcublasLt.so.13", "libcublasLt.so.12"};
  if (CUDART_VERSION < 13000) std::swap(sonames[0], sonames[1]);
  return SharedLibrary({.name = "cuBLASLt",
                        .purpose = "matrix products on a GPU",
                        .sonames = std::move(sonames),
                        .hint = "install the CUDA toolkit's cuBLAS (or pip install nvidia-cublas)"});
}

CublasLt::CublasLt() : library_(open()), handle_(nullptr, destroy) {
  cublasLtHandle_t handle = nullptr;
  MILLRACE_CUBLASLT_CHECK(*this, create(&handle));
  handle_.reset(handle);
}

void CublasLt::check(cublasStatus_t status, const CallSite& site) const {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw DeviceError(cat("cuBLASLt: ", describe(site), " failed: ", status_string(status)), {},
                    cat(library_.path(), " is version ", get_version()));
}

CublasLt::Product CublasLt::make_product(cublasComputeType_t compute, cudaDataType_t type) const {
  cublasLtMatmulDesc_t product = nullptr;
  MILLRACE_CUBLASLT_CHECK(*this, product_create(&product, compute, type));
  return {product, product_destroy};
}

CublasLt::Layout CublasLt::make_layout(cudaDataType_t type, int64_t rows, int64_t columns, int64_t leading) const {
  cublasLtMatrixLayout_t layout = nullptr;
  MILLRACE_CUBLASLT_CHECK(
      *this, layout_create(&layout, type, static_cast<uint64_t>(rows), static_cast<uint64_t>(columns), leading));
  return {layout, layout_destroy};
}

CublasLt::Preference CublasLt::make_preference() const {
  cublasLtMatmulPreference_t preference = nullptr;
  MILLRACE_CUBLASLT_CHECK(*this, preference_create(&preference));
  return {preference, preference_destroy};
}

}  // namespace millrace::cuda
