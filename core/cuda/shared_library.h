// SharedLibrary: a library that is opened when it is first needed, so that a program starts without it.
//
// Opened libraries stay in the process; a SharedLibrary is a name for one and may be copied and shared freely.
#pragma once

#include <string>
#include <vector>

namespace millrace::cuda {

// Which library is wanted, and what a message says if it is not there.
struct LibraryNeed {
  std::string name;                  // "cuBLASLt"
  std::string purpose;               // "matrix products on a GPU"
  std::vector<std::string> sonames;  // the first that opens is taken
  std::string hint;                  // how to get it
};

class SharedLibrary {
 public:
  // Looks in the folders of the environment variable MILLRACE_CUDA_LIBRARIES (separated by colons; each may also be a
  // folder of Python packages), then where the system looks, then in the usual places of the CUDA toolkit and of
  // PyTorch's packages. Throws DeviceError.
  explicit SharedLibrary(const LibraryNeed& need);

  // The address of a function. Throws DeviceError when this version of the library has none of that name.
  void* symbol(const char* name) const;
  template <class Function>
  Function* function(const char* name) const {
    return reinterpret_cast<Function*>(symbol(name));
  }
  // The file that was opened.
  const std::string& path() const { return path_; }

 private:
  std::string name_;
  std::string path_;
  void* handle_ = nullptr;
};

}  // namespace millrace::cuda

// A member of a class whose `library_`, declared before, is the library: a pointer to its function `name`.
#define MILLRACE_LIBRARY_FUNCTION(member, name) \
  decltype(::name)* const member = library_.function<decltype(::name)>(#name)
