// Context: where work runs: a device, its stream, the executor and the library handles. Everything that computes gets
// one.
//
// One thread uses a Context at a time. Work on a CUDA device is asynchronous until synchronize(); on the CPU every call
// has finished when it returns. A Context refers to its Executor, which must outlive it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "millrace/core/cuda/backend.h"
#include "millrace/core/device.h"
#include "millrace/core/event.h"
#include "millrace/core/executor.h"
#include "millrace/core/export.h"

namespace millrace {

// How exactly products and convolutions of float32 values are computed.
enum class Precision : uint8_t {
  float32,  // in full
  tf32,     // a GPU that gains speed by it may round factors to 11 significant bits; sums are float32's
};

class MILLRACE_EXPORT Context {
 public:
  // Throws DeviceError when the device cannot be used.
  Context(Device device, Executor& executor, Precision precision = Precision::float32);

  Device device() const { return device_; }
  Precision precision() const { return precision_; }
  Executor& executor() const { return executor_; }
  // The CUDA stream and handles. REQUIRES: device() is a CUDA device.
  cuda::State& cuda() const { return *cuda_; }

  // Copies between host and this device, either way or on one side, in stream order. Ordinary host memory may be reused
  // at return, which may wait for earlier work; pinned memory (Memory::pinned) belongs to the copy until synchronize().
  void copy(void* destination, const void* source, size_t bytes);
  // The same, but never waits. REQUIRES: host memory is pinned for this device, or this device is the CPU.
  void copy_async(void* destination, const void* source, size_t bytes);
  void fill_zero(void* destination, size_t bytes);
  // Waits for the work that this context was given.
  void synchronize();
  // The same for destructors: a failure of the work has surfaced where its result was wanted.
  void drain() noexcept;

  // Marks in `event` the work that this context was given so far. REQUIRES: an event of this device.
  void record(Event& event);
  // Later work of this context waits for the work that the event marks, on any device; on the CPU this call waits.
  void wait_for(const Event& event);

 private:
  Device device_;
  Precision precision_;
  Executor& executor_;
  cuda::StatePointer cuda_;
};

}  // namespace millrace
