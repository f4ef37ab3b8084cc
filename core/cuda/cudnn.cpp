#include "millrace/core/cuda/cudnn.h"

#include <array>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"

namespace millrace::cuda {

#define MILLRACE_FUNCTION(name) library_.function<decltype(::name)>(#name)

Cudnn::Cudnn()
    : library_({.name = "cuDNN",
                .purpose = "convolutions on a GPU",
                .sonames = {"libcudnn.so.9"},
                .hint = "install cuDNN 9 (or pip install nvidia-cudnn-cu13)"}),
      create(MILLRACE_FUNCTION(cudnnCreate)),
      destroy(MILLRACE_FUNCTION(cudnnDestroy)),
      set_stream(MILLRACE_FUNCTION(cudnnSetStream)),
      get_version(MILLRACE_FUNCTION(cudnnGetVersion)),
      error_string(MILLRACE_FUNCTION(cudnnGetErrorString)),
      last_error(MILLRACE_FUNCTION(cudnnGetLastErrorString)),
      descriptor_create(MILLRACE_FUNCTION(cudnnBackendCreateDescriptor)),
      descriptor_destroy(MILLRACE_FUNCTION(cudnnBackendDestroyDescriptor)),
      set_attribute(MILLRACE_FUNCTION(cudnnBackendSetAttribute)),
      get_attribute(MILLRACE_FUNCTION(cudnnBackendGetAttribute)),
      finalize(MILLRACE_FUNCTION(cudnnBackendFinalize)),
      execute(MILLRACE_FUNCTION(cudnnBackendExecute)) {}

Cudnn::Handle Cudnn::make_handle(cudaStream_t stream) const {
  cudnnHandle_t handle = nullptr;
  MILLRACE_CUDNN_CHECK(*this, create(&handle));
  Handle out(handle, destroy);
  MILLRACE_CUDNN_CHECK(*this, set_stream(handle, stream));
  return out;
}

void Cudnn::check(cudnnStatus_t status, const CallSite& site) const {
  if (status == CUDNN_STATUS_SUCCESS) return;
  std::array<char, 512> reason{};
  last_error(reason.data(), reason.size());
  reason.back() = '\0';
  throw DeviceError(
      cat("cuDNN: ", describe(site), " failed: ", error_string(status), reason[0] != '\0' ? ": " : "", reason.data()),
      {}, cat(library_.path(), " is version ", get_version()));
}

CudnnDescriptor::CudnnDescriptor(const Cudnn& library, cudnnBackendDescriptorType_t type)
    : library_(&library), descriptor_(nullptr, library.descriptor_destroy) {
  cudnnBackendDescriptor_t descriptor = nullptr;
  MILLRACE_CUDNN_CHECK(library, library.descriptor_create(type, &descriptor));
  descriptor_.reset(descriptor);
}

int64_t CudnnDescriptor::descriptors(cudnnBackendAttributeName_t name, std::span<const CudnnDescriptor> out) const {
  std::vector<cudnnBackendDescriptor_t> pointers;
  for (const CudnnDescriptor& descriptor : out) pointers.push_back(descriptor.get());
  return values(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, std::ssize(pointers), out.empty() ? nullptr : pointers.data());
}

void CudnnDescriptor::finalize() { MILLRACE_CUDNN_CHECK(*library_, library_->finalize(get())); }

void CudnnDescriptor::set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t count,
                          const void* values) {
  MILLRACE_CUDNN_CHECK(*library_, library_->set_attribute(get(), name, type, count, values));
}

int64_t CudnnDescriptor::values(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t room,
                                void* out) const {
  int64_t count = 0;
  MILLRACE_CUDNN_CHECK(*library_, library_->get_attribute(get(), name, type, room, &count, out));
  return count;
}

}  // namespace millrace::cuda
