// SharedLibrary: a library that is opened when it is first needed, so that a program starts without it.
//
// Opened libraries stay in the process; a SharedLibrary is a name for one and may be copied and shared freely.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "millrace/core/errors.h"

namespace millrace {

// Which library is wanted, where it may be, and what a message says if it is not there.
struct LibraryNeed {
  std::string name;                       // "cuBLASLt"
  std::string purpose;                    // "matrix products on a GPU"
  std::vector<std::string> sonames;       // the first that opens is taken
  std::string hint;                       // how to get it
  ErrorKind missing = ErrorKind::config;  // the error if it is not there; or `device`
  // Folders to look in before and after those where the system looks.
  std::vector<std::filesystem::path> first = {}, last = {};
};

class SharedLibrary {
 public:
  // Throws ConfigError, or DeviceError, if none of the names can be opened.
  explicit SharedLibrary(const LibraryNeed& need);

  // The address of a function or variable. Throws the same error if this version of the library has none of that name.
  void* symbol(const char* name) const;
  template <class Function>
  Function* function(const char* name) const {
    return reinterpret_cast<Function*>(symbol(name));
  }
  // The same, for a pointer to a function that is declared without the library's headers: it has any type.
  struct Symbol {
    void* address;
    template <class Function>
    operator Function*() const {
      return reinterpret_cast<Function*>(address);
    }
  };
  Symbol named(const char* name) const { return {symbol(name)}; }
  // The file that was opened.
  const std::string& path() const { return path_; }

 private:
  std::string name_;
  std::string path_;
  ErrorKind missing_;
  void* handle_ = nullptr;
};

}  // namespace millrace

// A member of a class whose `library_`, declared before, is the library: a pointer to its function `name`.
#define MILLRACE_LIBRARY_FUNCTION(member, name) \
  decltype(::name)* const member = library_.function<decltype(::name)>(#name)
