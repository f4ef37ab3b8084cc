// What the functions of the runtime share.
#pragma once

#include <cuda_runtime_api.h>

#include <memory>

#include "tests/emulated_gpu/emulated_gpu.h"
#include "tests/emulated_gpu/stream.h"

namespace millrace::emulation {

Counters& count();

// Keeps `error` as the thread's last one.
cudaError_t returned(cudaError_t error);

int device_count();
int current_device();
// The devices that somebody used.
bool is_active(int device);
void activate(int device);

// A handle's stream; ends the process for one that is none, and for the legacy stream, which waits for all others.
std::shared_ptr<EmulatedStream> stream_of(cudaStream_t handle);

// For calls that may not be made by a thread that captures: marks the capture as broken and is not cudaSuccess then.
cudaError_t refuse_in_capture();

}  // namespace millrace::emulation
