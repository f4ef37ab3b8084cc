#include "millrace/core/cuda/cudnn.h"

#include <array>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"

namespace millrace::cuda {

namespace {

constexpr char kPurpose[] = "convolutions on a GPU";
constexpr const char* kHint = CUDART_VERSION < 13000
                                  ? "install cuDNN 9 (or pip install nvidia-cudnn-cu12), use device: cpu"
                                  : "install cuDNN 9 (or pip install nvidia-cudnn-cu13), use device: cpu";

// Opens cuDNN's main library, and its parts from the same folder. By itself the main library would open the parts that
// the system finds first, which may have another version.
SharedLibrary open_all() {
  SharedLibrary all({.name = "cuDNN", .purpose = kPurpose, .sonames = {"libcudnn.so.9"}, .hint = kHint});
  const std::string folder = all.path().substr(0, all.path().rfind('/') + 1);
  for (const char* part : {"graph", "ops", "heuristic", "engines_precompiled"}) {
    const SharedLibrary opened({.name = cat("cuDNN's ", part),
                                .purpose = kPurpose,
                                .sonames = {cat(folder, "libcudnn_", part, ".so.9")},
                                .hint = kHint});
  }
  return all;
}

}  // namespace

Cudnn::Cudnn() : library_(open_all()) {}

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

bool CudnnDescriptor::try_finalize(bool may_be_wrong) {
  const cudnnStatus_t status = library_->finalize(get());
  // The thousands of a status say what sort of error it is: a wrong description, or an unsupported one.
  const auto is_of = [&](cudnnStatus_t sort) { return status / 1000 == sort / 1000; };
  if (is_of(CUDNN_STATUS_NOT_SUPPORTED) || (may_be_wrong && is_of(CUDNN_STATUS_BAD_PARAM))) return false;
  library_->check(status, {"cudnnBackendFinalize(..)", __FILE__, __LINE__});
  return true;
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
