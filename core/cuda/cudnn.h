// Cudnn: cuDNN's graph interface, opened when it is made; and CudnnDescriptor, which owns one of its descriptors.
//
// The members of Cudnn named like functions are the library's own and may be called from any thread. No handle and no
// GPU are needed to open the library, nor to plan for a GPU that is described to it.
#pragma once

#include <cudnn.h>

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <vector>

#include "millrace/core/cuda/check.h"
#include "millrace/core/cuda/shared_library.h"

namespace millrace::cuda {

class Cudnn {
  SharedLibrary library_;  // first: the functions below are read from it

 public:
  // Throws DeviceError when the library is not there.
  Cudnn();
  Cudnn(const Cudnn&) = delete;
  Cudnn& operator=(const Cudnn&) = delete;

  MILLRACE_LIBRARY_FUNCTION(create, cudnnCreate);
  MILLRACE_LIBRARY_FUNCTION(destroy, cudnnDestroy);
  MILLRACE_LIBRARY_FUNCTION(set_stream, cudnnSetStream);
  MILLRACE_LIBRARY_FUNCTION(get_version, cudnnGetVersion);
  MILLRACE_LIBRARY_FUNCTION(error_string, cudnnGetErrorString);
  MILLRACE_LIBRARY_FUNCTION(last_error, cudnnGetLastErrorString);
  MILLRACE_LIBRARY_FUNCTION(descriptor_create, cudnnBackendCreateDescriptor);
  MILLRACE_LIBRARY_FUNCTION(descriptor_destroy, cudnnBackendDestroyDescriptor);
  MILLRACE_LIBRARY_FUNCTION(set_attribute, cudnnBackendSetAttribute);
  MILLRACE_LIBRARY_FUNCTION(get_attribute, cudnnBackendGetAttribute);
  MILLRACE_LIBRARY_FUNCTION(finalize, cudnnBackendFinalize);
  MILLRACE_LIBRARY_FUNCTION(execute, cudnnBackendExecute);

  using Handle = std::unique_ptr<cudnnContext, cudnnStatus_t (*)(cudnnHandle_t)>;
  // For the device that is current now and the stream, which must outlive it.
  Handle make_handle(cudaStream_t stream) const;

  const SharedLibrary& library() const { return library_; }
  // Throws DeviceError unless `status` is success.
  void check(cudnnStatus_t status, const CallSite& site) const;
};

#define MILLRACE_CUDNN_CHECK(library, expression) \
  (library).check((expression), ::millrace::cuda::CallSite{#expression, __FILE__, __LINE__})

// The library's name for the C++ type of an attribute.
using CudnnType = cudnnBackendAttributeType_t;
constexpr CudnnType cudnn_type(int64_t) { return CUDNN_TYPE_INT64; }
constexpr CudnnType cudnn_type(float) { return CUDNN_TYPE_FLOAT; }
constexpr CudnnType cudnn_type(double) { return CUDNN_TYPE_DOUBLE; }
constexpr CudnnType cudnn_type(char) { return CUDNN_TYPE_CHAR; }
constexpr CudnnType cudnn_type(cudnnHandle_t) { return CUDNN_TYPE_HANDLE; }
constexpr CudnnType cudnn_type(cudnnDataType_t) { return CUDNN_TYPE_DATA_TYPE; }
constexpr CudnnType cudnn_type(cudnnConvolutionMode_t) { return CUDNN_TYPE_CONVOLUTION_MODE; }
constexpr CudnnType cudnn_type(cudnnBackendHeurMode_t) { return CUDNN_TYPE_HEUR_MODE; }
constexpr CudnnType cudnn_type(cudnnBackendNumericalNote_t) { return CUDNN_TYPE_NUMERICAL_NOTE; }
constexpr CudnnType cudnn_type(cudnnBackendBehaviorNote_t) { return CUDNN_TYPE_BEHAVIOR_NOTE; }
// A descriptor is a pointer to void, and so is an address. Descriptors are set far more often, so the type stands for
// them; set_addresses() sets addresses.
constexpr CudnnType cudnn_type(cudnnBackendDescriptor_t) { return CUDNN_TYPE_BACKEND_DESCRIPTOR; }

class CudnnDescriptor {
 public:
  // REQUIRES: `library` outlives the descriptor.
  CudnnDescriptor(const Cudnn& library, cudnnBackendDescriptorType_t type);

  template <class T>
  void set(cudnnBackendAttributeName_t name, std::span<const T> values) {
    set(name, cudnn_type(T{}), static_cast<int64_t>(values.size()), values.data());
  }
  template <class T>
  void set(cudnnBackendAttributeName_t name, std::initializer_list<T> values) {
    set(name, std::span<const T>(values.begin(), values.size()));
  }
  void set(cudnnBackendAttributeName_t name, const CudnnDescriptor& value) { set(name, {value.get()}); }
  // `pointers` are addresses of the GPU's memory.
  void set_addresses(cudnnBackendAttributeName_t name, std::span<void* const> pointers) {
    set(name, CUDNN_TYPE_VOID_PTR, static_cast<int64_t>(pointers.size()), pointers.data());
  }

  // One value. REQUIRES: finalised.
  template <class T>
  T value(cudnnBackendAttributeName_t name) const {
    T out{};
    static_cast<void>(values(name, cudnn_type(T{}), 1, &out));
    return out;
  }
  template <class T>
  std::vector<T> list(cudnnBackendAttributeName_t name) const {
    std::vector<T> out(static_cast<size_t>(values(name, cudnn_type(T{}), 0, nullptr)));
    if (!out.empty()) out.resize(static_cast<size_t>(values(name, cudnn_type(T{}), std::ssize(out), out.data())));
    return out;
  }
  // Writes the descriptors of `name` into `out`, which are of the right type; returns how many there are.
  int64_t descriptors(cudnnBackendAttributeName_t name, std::span<const CudnnDescriptor> out) const;

  void finalize();
  // False if the library says that it does not support what is described or, with `may_be_wrong`, that the description
  // is wrong. Throws for any other failure.
  [[nodiscard]] bool try_finalize(bool may_be_wrong = false);

  cudnnBackendDescriptor_t get() const { return descriptor_.get(); }

 private:
  void set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t count, const void* values);
  int64_t values(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t room, void* out) const;

  const Cudnn* library_;
  std::unique_ptr<void, cudnnStatus_t (*)(cudnnBackendDescriptor_t)> descriptor_;
};

}  // namespace millrace::cuda
