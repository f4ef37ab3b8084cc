// Facts about CUDA and its libraries, memory in use, and an error on purpose.
#pragma once

#include <cstddef>
#include <string>

#include "millrace/core/context.h"

namespace millrace::bench {

// A JSON object: the GPU, and the versions that are in use. REQUIRES: a CUDA device.
std::string about_device(Context& context);

// Memory of the whole device that is in use, by every process; 0 for the CPU.
size_t used_bytes(Device device);
// Host memory of this process that is in use, pinned pages included.
size_t resident_bytes();

// Runs a kernel that writes to an invalid address; throws the error.
void write_to_bad_address(Context& context);

}  // namespace millrace::bench
