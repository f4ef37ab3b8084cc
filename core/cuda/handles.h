// Owners of CUDA's handles, and the guard that makes a device current for a block.
//
// Streams and events belong to one device; every call on them makes it current first. Used by one thread at a time.
// Destructors never throw: what fails there (a process that ends) is ignored.
#pragma once

#include <cuda_runtime_api.h>

#include <new>

#include "millrace/core/export.h"

namespace millrace::cuda {

// Whether anyone in this process uses `device`, so that it has a context.
MILLRACE_EXPORT bool has_context(int device) noexcept;

// Makes `device` the calling thread's current device until the end of the block. Then it restores the earlier device,
// but only if this process uses that one: making a device current opens a context on it, which would take hundreds of
// megabytes for nothing. Otherwise the thread stays on `device`.
class MILLRACE_EXPORT DeviceGuard {
 public:
  // Throws DeviceError when the device is not there.
  explicit DeviceGuard(int device);
  // For destructors: what fails is ignored.
  DeviceGuard(int device, std::nothrow_t) noexcept;
  ~DeviceGuard();
  DeviceGuard(const DeviceGuard&) = delete;
  DeviceGuard& operator=(const DeviceGuard&) = delete;

 private:
  int before_ = 0;
  bool changed_ = false;
};

class Stream;

// A point in a stream that the host or another stream can wait for. Takes no times.
class MILLRACE_EXPORT Event {
 public:
  explicit Event(int device);
  ~Event();
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  // Marks the work that `stream` was given so far.
  void record(const Stream& stream);
  // True when the marked work has ended, or nothing was marked yet.
  bool finished() const;
  // The host waits: first awake, for about as long as waking up would take, then asleep, so that other threads have its
  // processor.
  void synchronize() const;
  // Work given to `stream` from now on waits, the host does not.
  void wait_on(const Stream& stream) const;

 private:
  int device_;
  cudaEvent_t event_ = nullptr;
};

// A stream that does not wait for the legacy default stream.
class MILLRACE_EXPORT Stream {
 public:
  explicit Stream(int device);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  cudaStream_t get() const { return stream_; }
  int device() const { return device_; }
  // Waits for all work that the stream was given, as for an event. Throws if any of it failed.
  void synchronize() const;

 private:
  int device_;
  mutable Event end_;  // marks the end of the work when somebody waits for it
  cudaStream_t stream_ = nullptr;
};

}  // namespace millrace::cuda
