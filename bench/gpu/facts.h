// What CUDA and its libraries say of themselves, memory in use, and an error on purpose.
#pragma once

#include <cstddef>
#include <string>

#include "millrace/core/context.h"

namespace millrace::bench {

// A JSON object: the GPU, and the versions that are in use. REQUIRES: a CUDA device.
std::string about_device(Context& context);

// Of the whole device, by every process; 0 for the CPU.
size_t used_bytes(Device device);
// Of this process, in the host's memory, pinned pages included.
size_t resident_bytes();

// A kernel that writes where no memory is; throws what comes of it.
void write_to_bad_address(Context& context);

}  // namespace millrace::bench
