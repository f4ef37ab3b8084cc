// CublasLt: cuBLASLt, opened when it is made, with a handle for the device that is current then.
//
// The members named like functions are the library's own. They may be called from any thread; the handle belongs to
// whoever made it and is used by one thread at a time.
#pragma once

#include <cublasLt.h>

#include <memory>

#include "millrace/core/cuda/check.h"
#include "millrace/core/cuda/shared_library.h"

namespace millrace::cuda {

class CublasLt {
  SharedLibrary library_;  // first: the functions below are read from it

 public:
  // Opens the library, without a handle. Throws DeviceError when it is not there.
  static SharedLibrary open();

  // Throws DeviceError when the library is not there.
  CublasLt();
  CublasLt(const CublasLt&) = delete;
  CublasLt& operator=(const CublasLt&) = delete;

  MILLRACE_LIBRARY_FUNCTION(create, cublasLtCreate);
  MILLRACE_LIBRARY_FUNCTION(destroy, cublasLtDestroy);
  MILLRACE_LIBRARY_FUNCTION(get_version, cublasLtGetVersion);
  MILLRACE_LIBRARY_FUNCTION(status_string, cublasLtGetStatusString);
  MILLRACE_LIBRARY_FUNCTION(matmul, cublasLtMatmul);
  MILLRACE_LIBRARY_FUNCTION(heuristic, cublasLtMatmulAlgoGetHeuristic);
  MILLRACE_LIBRARY_FUNCTION(algorithm_attribute, cublasLtMatmulAlgoConfigGetAttribute);
  MILLRACE_LIBRARY_FUNCTION(product_create, cublasLtMatmulDescCreate);
  MILLRACE_LIBRARY_FUNCTION(product_destroy, cublasLtMatmulDescDestroy);
  MILLRACE_LIBRARY_FUNCTION(product_set, cublasLtMatmulDescSetAttribute);
  MILLRACE_LIBRARY_FUNCTION(layout_create, cublasLtMatrixLayoutCreate);
  MILLRACE_LIBRARY_FUNCTION(layout_destroy, cublasLtMatrixLayoutDestroy);
  MILLRACE_LIBRARY_FUNCTION(preference_create, cublasLtMatmulPreferenceCreate);
  MILLRACE_LIBRARY_FUNCTION(preference_destroy, cublasLtMatmulPreferenceDestroy);
  MILLRACE_LIBRARY_FUNCTION(preference_set, cublasLtMatmulPreferenceSetAttribute);

  cublasLtHandle_t handle() const { return handle_.get(); }
  const SharedLibrary& library() const { return library_; }
  // Throws DeviceError unless `status` is success.
  void check(cublasStatus_t status, const CallSite& site) const;

 private:
  template <class Opaque>
  using Owned = std::unique_ptr<Opaque, cublasStatus_t (*)(Opaque*)>;

 public:
  using Product = Owned<cublasLtMatmulDescOpaque_t>;
  using Layout = Owned<cublasLtMatrixLayoutOpaque_t>;
  using Preference = Owned<cublasLtMatmulPreferenceOpaque_t>;
  Product make_product(cublasComputeType_t compute, cudaDataType_t type) const;
  // Column-major.
  Layout make_layout(cudaDataType_t type, int64_t rows, int64_t columns, int64_t leading) const;
  Preference make_preference() const;

 private:
  Owned<cublasLtContext> handle_;
};

}  // namespace millrace::cuda

#define MILLRACE_CUBLASLT_CHECK(library, expression) \
  (library).check((expression), ::millrace::cuda::CallSite{#expression, __FILE__, __LINE__})
