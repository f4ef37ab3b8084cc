#include "millrace/core/shared_library.h"

#include <dlfcn.h>
#include <link.h>

#include "millrace/core/text.h"

namespace millrace {

namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail_with_library(ErrorKind kind, const std::string& message, const std::string& hint) {
  if (kind == ErrorKind::device) throw DeviceError(message, {}, hint);
  throw ConfigError(message, {}, hint);
}

// Null when it cannot be opened; then `reason` says why, unless the file is simply not there.
void* open_library(const std::string& file, std::string& reason) {
  // Some libraries must not be unloaded while the process lives, CUDA's for example.
  void* handle = dlopen(file.c_str(), RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE);
  if (handle == nullptr) {
    const std::string message = dlerror();
    if (!message.starts_with(file + ": cannot open shared object file: No such file")) reason = message;
  }
  return handle;
}

void* open_in(const std::vector<fs::path>& folders, const std::vector<std::string>& sonames, std::string& reason) {
  for (const fs::path& folder : folders) {
    for (const std::string& soname : sonames) {
      if (void* handle = open_library((folder / soname).string(), reason); handle != nullptr) return handle;
    }
  }
  return nullptr;
}

void* open_anywhere(const LibraryNeed& need, std::string& reason) {
  if (void* handle = open_in(need.first, need.sonames, reason); handle != nullptr) return handle;
  for (const std::string& soname : need.sonames) {
    if (void* handle = open_library(soname, reason); handle != nullptr) return handle;
  }
  return open_in(need.last, need.sonames, reason);
}

}  // namespace

SharedLibrary::SharedLibrary(const LibraryNeed& need) : name_(need.name), missing_(need.missing) {
  std::string reason;
  handle_ = open_anywhere(need, reason);
  if (handle_ == nullptr) {
    fail_with_library(missing_,
                      cat(need.purpose, " need ", need.name, ", but ", join(need.sonames, " or "),
                          reason.empty() ? " was not found" : cat(" cannot be opened: ", reason)),
                      need.hint);
  }
  link_map* map = nullptr;
  if (dlinfo(handle_, RTLD_DI_LINKMAP, &map) == 0 && map != nullptr) path_ = map->l_name;
}

void* SharedLibrary::symbol(const char* name) const {
  void* address = dlsym(handle_, name);
  if (address == nullptr) {
    fail_with_library(missing_, cat(name_, " (", path_, ") has no function ", name),
                      "use the version that this build was made for");
  }
  return address;
}

}  // namespace millrace
