// The fault that MILLRACE_EMULATED_FAULT plants; emulated_gpu.h says which there are.
#pragma once

#include <cuda_runtime_api.h>

namespace millrace::emulation {

// Before each kernel: whether it is run. Does not return if the fault is a crash or a hang.
bool meets_no_fault();
// cudaErrorIllegalAddress from the kernel on that met a sticky fault, else cudaSuccess.
cudaError_t sticky_error();

}  // namespace millrace::emulation
