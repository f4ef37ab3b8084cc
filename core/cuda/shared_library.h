// SharedLibrary of CUDA's libraries, which lie in many places.
#pragma once

#include "millrace/core/shared_library.h"

namespace millrace::cuda {

class SharedLibrary : public millrace::SharedLibrary {
 public:
  // Looks in the folders of the environment variable MILLRACE_CUDA_LIBRARIES (separated by colons; each may also be a
  // folder of Python packages), then where the system looks, then in the usual places of the CUDA toolkit and of
  // PyTorch's packages. Throws DeviceError, and so does symbol().
  explicit SharedLibrary(LibraryNeed need);
};

}  // namespace millrace::cuda
