// The seam between host code and CUDA. This header names no CUDA type, so any file of core may include it.
// Two files implement it: backend.cpp with a toolkit, stub.cpp without one (no devices, and every call throws).
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "millrace/core/context.h"
#include "millrace/core/export.h"

namespace millrace::cuda {

// The toolkit's version ("13.0"), for --version; empty in a build without CUDA.
const char* toolkit_version();
// The oldest compute capability that the kernels were compiled for, times 10: 90 is 9.0. Newer GPUs run them too. Only
// in a build with CUDA.
int oldest_architecture();

// The usable devices; opens no library except the driver.
CudaStatus status();
// Why `device` cannot be used; empty when it can.
std::string unusable(Device device);
// Which of CUDA's libraries a training on any device would miss, and how to get it; empty if all are there. Opens the
// libraries.
std::string missing_library(const CudaNeeds& needs);

// The device's own name ("NVIDIA H100 80GB HBM3"), and the libraries that a training opens, with the numbers that they
// give their versions ("cuBLASLt 130100"). Throw DeviceError.
std::string name_of(Device device);
std::vector<std::string> library_versions(const CudaNeeds& needs);

// Ranges of time that NVIDIA's profilers show (NVTX). Ranges of one thread nest. Without a profiler they cost next to
// nothing.
bool profiler_attached() noexcept;
void push_range(const char* name) noexcept;
void pop_range() noexcept;

// Zero-filled device memory. Throws DeviceError. REQUIRES for free(): all work that uses the memory has ended.
void* allocate(Device device, size_t bytes);
void free(Device device, void* data) noexcept;
// Host memory for copies from and to `device`. Throws DeviceError.
void* allocate_pinned(Device device, size_t bytes);
void free_pinned(Device device, void* data) noexcept;

// A stream and the library handles made on it (cuBLASLt is opened when the first product is planned).
StatePointer make_state(Device device);

// All of these run on the state's stream. Each pointer of a copy points to the host's or the device's memory. copy()
// waits as Context::copy() says; copy_async() never does. REQUIRES for copy_async(): host memory is pinned.
void copy(State& state, void* destination, const void* source, size_t bytes);
void copy_async(State& state, void* destination, const void* source, size_t bytes);
void fill_zero(State& state, void* destination, size_t bytes);
void synchronize(State& state);

// A point in a stream; see core/event.h.
class Event;
struct MILLRACE_EXPORT EventDeleter {
  void operator()(Event* event) const noexcept;
};
using EventPointer = std::unique_ptr<Event, EventDeleter>;
EventPointer make_event(Device device);
void record(Event& event, State& state);
// Work that the state's stream is given from now on waits for the event.
void wait(State& state, const Event& event);
bool finished(const Event& event);
void synchronize(const Event& event);

// Work that a state's stream is given between begin_recording() and end_recording() is not run but kept, to be launched
// as a whole; see core/replay.h. One thread makes all of these calls. They throw DeviceError. REQUIRES: after a
// begin_recording() that succeeded, the recording is ended or abandoned.
class Recording;
struct MILLRACE_EXPORT RecordingDeleter {
  void operator()(Recording* recording) const noexcept;
};
using RecordingPointer = std::unique_ptr<Recording, RecordingDeleter>;
void begin_recording(State& state);
RecordingPointer end_recording(State& state);
void abandon_recording(State& state) noexcept;
void launch(State& state, const Recording& recording);
// All of `links` as one recording, in their order. Throws DeviceError.
RecordingPointer chain(State& state, std::span<const Recording* const> links);

}  // namespace millrace::cuda
