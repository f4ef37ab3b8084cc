// What only nvcc knows about this build.
#pragma once

namespace millrace::cuda {

// The toolkit's version: "13.0".
const char* toolkit_version();

// The oldest compute capability that the kernels were compiled for, times 10: 90 is 9.0. Newer GPUs run them too.
int oldest_architecture();

}  // namespace millrace::cuda
