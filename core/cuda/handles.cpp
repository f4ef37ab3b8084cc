#include "millrace/core/cuda/handles.h"

#include <cuda.h>

#include <chrono>

#include "millrace/core/cuda/check.h"

namespace millrace::cuda {

namespace {

using StateOfContext = CUresult (*)(CUdevice, unsigned* flags, int* active);

// A function of the driver for which the runtime has no counterpart; null if there is no driver.
StateOfContext find_state_of_context() noexcept {
  constexpr char kName[] = "cuDevicePrimaryCtxGetState";
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found{};
#if CUDART_VERSION >= 12050
  const cudaError_t status = cudaGetDriverEntryPointByVersion(kName, &function, 12000, cudaEnableDefault, &found);
#else
  const cudaError_t status = cudaGetDriverEntryPoint(kName, &function, cudaEnableDefault, &found);
#endif
  if (status != cudaSuccess) static_cast<void>(cudaGetLastError());
  return status == cudaSuccess && found == cudaDriverEntryPointSuccess ? reinterpret_cast<StateOfContext>(function)
                                                                       : nullptr;
}

// An interrupt takes about this long to wake up a host thread that sleeps; small steps are shorter.
constexpr std::chrono::microseconds kAwake{50};

// Whether `finished` returns true within that time.
template <class F>
bool is_soon(const F& finished) {
  const auto end = std::chrono::steady_clock::now() + kAwake;
  do {
    if (finished()) return true;
  } while (std::chrono::steady_clock::now() < end);
  return false;
}

}  // namespace

bool has_context(int device) noexcept {
  static const StateOfContext state_of = find_state_of_context();
  unsigned flags = 0;
  int active = 0;
  return state_of != nullptr && state_of(device, &flags, &active) == CUDA_SUCCESS && active != 0;
}

DeviceGuard::DeviceGuard(int device) {
  MILLRACE_CUDA_CHECK(cudaGetDevice(&before_));
  if (before_ == device) return;
  MILLRACE_CUDA_CHECK(cudaSetDevice(device));
  changed_ = true;
}

DeviceGuard::DeviceGuard(int device, std::nothrow_t) noexcept {
  changed_ = cudaGetDevice(&before_) == cudaSuccess && before_ != device && cudaSetDevice(device) == cudaSuccess;
}

DeviceGuard::~DeviceGuard() {
  if (changed_ && has_context(before_)) static_cast<void>(cudaSetDevice(before_));
}

Stream::Stream(int device) : device_(device), end_(device) {
  const DeviceGuard guard(device);
  MILLRACE_CUDA_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
}

Stream::~Stream() {
  const DeviceGuard guard(device_, std::nothrow);
  static_cast<void>(cudaStreamDestroy(stream_));
}

void Stream::synchronize() const {
  const DeviceGuard guard(device_);
  if (is_soon([&] { return MILLRACE_CUDA_SUCCEEDED(cudaStreamQuery(stream_), cudaErrorNotReady); })) return;
  end_.record(*this);
  end_.synchronize();
}

Event::Event(int device) : device_(device) {
  const DeviceGuard guard(device);
  MILLRACE_CUDA_CHECK(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming | cudaEventBlockingSync));
}

Event::~Event() {
  const DeviceGuard guard(device_, std::nothrow);
  static_cast<void>(cudaEventDestroy(event_));
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
  if (is_soon([&] { return finished(); })) return;
  const DeviceGuard guard(device_);
  MILLRACE_CUDA_CHECK(cudaEventSynchronize(event_));
}

void Event::wait_on(const Stream& stream) const {
  const DeviceGuard guard(stream.device());
  MILLRACE_CUDA_CHECK(cudaStreamWaitEvent(stream.get(), event_, 0));
}

}  // namespace millrace::cuda
