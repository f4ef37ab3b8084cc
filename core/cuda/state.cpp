#include "millrace/core/cuda/state.h"

#include <algorithm>

#include "millrace/core/cuda/cublaslt.h"
#include "millrace/core/cuda/cudnn.h"
#include "millrace/core/cuda/kernels.h"

namespace millrace::cuda {

struct State::CudnnOnStream {
  explicit CudnnOnStream(cudaStream_t stream) : handle(library.make_handle(stream)) {}

  const Cudnn library;
  const Cudnn::Handle handle;
};

State::State(Device device) : stream_(device.index) {}

State::~State() {
  const DeviceGuard guard(device(), std::nothrow);
  static_cast<void>(cudaStreamSynchronize(stream()));  // work that still runs may use the workspace
  cudnn_.reset();
  cublaslt_.reset();
}

const CublasLt& State::cublaslt() {
  if (!cublaslt_) {
    const DeviceGuard guard(device());
    cublaslt_ = std::make_unique<const CublasLt>();
  }
  return *cublaslt_;
}

const State::CudnnOnStream& State::cudnn_on_stream() {
  if (!cudnn_) {
    const DeviceGuard guard(device());
    cudnn_ = std::make_unique<CudnnOnStream>(stream());
  }
  return *cudnn_;
}

const Cudnn& State::cudnn() { return cudnn_on_stream().library; }

cudnnContext* State::cudnn_handle() { return cudnn_on_stream().handle.get(); }

std::shared_ptr<const Memory> State::workspace(size_t bytes) {
  const size_t least = std::max(bytes, kWorkspaceBytes);
  if (!workspace_ || workspace_->bytes() < least) {
    workspace_ = std::make_shared<const Memory>(Device::cuda(device()), least);
  }
  return workspace_;
}

}  // namespace millrace::cuda
