#include "millrace/core/cuda/state.h"

#include "millrace/core/cuda/cublaslt.h"

namespace millrace::cuda {

State::State(Device device) : stream_(device.index) {}

State::~State() {
  const DeviceGuard guard(device(), std::nothrow);
  cublaslt_.reset();
}

const CublasLt& State::cublaslt() {
  if (!cublaslt_) {
    const DeviceGuard guard(device());
    cublaslt_ = std::make_unique<const CublasLt>();
  }
  return *cublaslt_;
}

std::shared_ptr<const Memory> State::workspace(size_t bytes) {
  if (!workspace_ || workspace_->bytes() < bytes) {
    workspace_ = std::make_shared<const Memory>(Device::cuda(device()), bytes);
  }
  return workspace_;
}

}  // namespace millrace::cuda
