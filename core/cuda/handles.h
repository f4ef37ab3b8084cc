// Owners of CUDA's handles, and the guard that makes a device current for a block.
//
// Streams and events belong to one device; every call on them makes it current first. Move-only; used by one thread at
// a time. Destructors never throw: what fails there (a process that ends) is ignored.
#pragma once

#include <cuda_runtime_api.h>

#include <new>
#include <utility>

#include "millrace/core/export.h"

namespace millrace::cuda {

// Whether anyone in this process uses `device`, so that it has a context.
MILLRACE_EXPORT bool has_context(int device) noexcept;

// Makes `device` the calling thread's current one until the end of the block, then restores the one before, where that
// one is in use: to make a device current opens a context on it, hundreds of megabytes for nothing. So a thread that
// would have been the first to use another device stays on this one.
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
  Event(Event&& other) noexcept : device_(other.device_), event_(std::exchange(other.event_, nullptr)) {}
  Event& operator=(Event&&) = delete;

  // Marks what `stream` was given so far.
  void record(const Stream& stream);
  // True when the marked work has ended, or nothing was marked yet.
  bool finished() const;
  // The host waits: awake at first, for about as long as it takes to wake up, then asleep, so that others have its
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
  Stream(Stream&& other) noexcept
      : device_(other.device_), end_(std::move(other.end_)), stream_(std::exchange(other.stream_, nullptr)) {}
  Stream& operator=(Stream&&) = delete;

  cudaStream_t get() const { return stream_; }
  int device() const { return device_; }
  // Waits for everything given to the stream, as for an event; throws what any of it failed with.
  void synchronize() const;

 private:
  int device_;
  mutable Event end_;  // of what it was given, where somebody waits for that
  cudaStream_t stream_ = nullptr;
};

}  // namespace millrace::cuda
