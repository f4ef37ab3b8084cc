#include "millrace/core/cuda/handles.h"

#include "millrace/core/cuda/check.h"

namespace millrace::cuda {

DeviceGuard::DeviceGuard(int device) {
  MILLRACE_CUDA_CHECK(cudaGetDevice(&before_));
  if (before_ == device) return;
  MILLRACE_CUDA_CHECK(cudaSetDevice(device));
  changed_ = true;
}

DeviceGuard::~DeviceGuard() {
  if (changed_) static_cast<void>(cudaSetDevice(before_));
}

Stream::Stream(int device) : device_(device) {
  const DeviceGuard guard(device);
  MILLRACE_CUDA_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
}

Stream::~Stream() {
  if (stream_ != nullptr) static_cast<void>(cudaStreamDestroy(stream_));
}

void Stream::synchronize() const {
  const DeviceGuard guard(device_);
  MILLRACE_CUDA_CHECK(cudaStreamSynchronize(stream_));
}

Event::Event(int device) : device_(device) {
  const DeviceGuard guard(device);
  MILLRACE_CUDA_CHECK(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming));
}

Event::~Event() {
  if (event_ != nullptr) static_cast<void>(cudaEventDestroy(event_));
}

void Event::record(const Stream& stream) {
  const DeviceGuard guard(device_);
  MILLRACE_CUDA_CHECK(cudaEventRecord(event_, stream.get()));
}

bool Event::finished() const {
  const DeviceGuard guard(device_);
  return MILLRACE_CUDA_SUCCEEDED(cudaEventQuery(event_), cudaErrorNotReady);
}

void Event::synchronize() const {
  const DeviceGuard guard(device_);
  MILLRACE_CUDA_CHECK(cudaEventSynchronize(event_));
}

void Event::wait_on(const Stream& stream) const {
  const DeviceGuard guard(stream.device());
  MILLRACE_CUDA_CHECK(cudaStreamWaitEvent(stream.get(), event_, 0));
}

}  // namespace millrace::cuda
