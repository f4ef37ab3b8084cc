// CublasLt: cuBLASLt, opened when it is made, with a handle for the device that is current then.
//
// The members named like functions are the library's own. They may be called from any thread; the handle belongs to
// whoever made it and is used by one thread at a time.
#pragma once

#include <cublasLt.h>

#include <memory>
#include <type_traits>

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

  template <class Function>
  using Pointer = std::add_pointer_t<Function>;
  const Pointer<decltype(::cublasLtCreate)> create;
  const Pointer<decltype(::cublasLtDestroy)> destroy;
  const Pointer<decltype(::cublasLtGetVersion)> get_version;
  const Pointer<decltype(::cublasLtGetStatusString)> status_string;
  const Pointer<decltype(::cublasLtMatmul)> matmul;
  const Pointer<decltype(::cublasLtMatmulAlgoGetHeuristic)> heuristic;
  const Pointer<decltype(::cublasLtMatmulAlgoConfigGetAttribute)> algorithm_attribute;
  const Pointer<decltype(::cublasLtMatmulDescCreate)> product_create;
  const Pointer<decltype(::cublasLtMatmulDescDestroy)> product_destroy;
  const Pointer<decltype(::cublasLtMatmulDescSetAttribute)> product_set;
  const Pointer<decltype(::cublasLtMatrixLayoutCreate)> layout_create;
  const Pointer<decltype(::cublasLtMatrixLayoutDestroy)> layout_destroy;
  const Pointer<decltype(::cublasLtMatmulPreferenceCreate)> preference_create;
  const Pointer<decltype(::cublasLtMatmulPreferenceDestroy)> preference_destroy;
  const Pointer<decltype(::cublasLtMatmulPreferenceSetAttribute)> preference_set;

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
