#include "millrace/core/cuda/shared_library.h"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"

namespace millrace::cuda {

namespace {

namespace fs = std::filesystem;

constexpr char kVariable[] = "MILLRACE_CUDA_LIBRARIES";

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Adds the folders in which NVIDIA's Python packages, below the folder `packages`, keep their libraries.
void add_package_folders(const fs::path& packages, std::vector<fs::path>& folders) {
  for (const char* package : {"nvidia/cu13/lib", "nvidia/cublas/lib", "nvidia/cudnn/lib"})
    folders.push_back(packages / package);
}

// The folders of packages of every Python 3 installed below `prefix`, sorted.
void add_python_folders(const fs::path& prefix, std::vector<fs::path>& folders) {
  std::vector<fs::path> versions;
  std::error_code failure;
  for (fs::directory_iterator at(prefix / "lib", failure); !failure && at != fs::directory_iterator();
       at.increment(failure)) {
    if (at->path().filename().string().starts_with("python3")) versions.push_back(at->path());
  }
  std::sort(versions.begin(), versions.end());
  for (const fs::path& version : versions) {
    for (const char* kind : {"site-packages", "dist-packages"}) add_package_folders(version / kind, folders);
  }
}

std::vector<fs::path> named_folders() {
  std::vector<fs::path> folders;
  std::istringstream list(environment(kVariable));
  for (std::string folder; std::getline(list, folder, ':');) {
    if (folder.empty()) continue;
    folders.emplace_back(folder);
    add_package_folders(folder, folders);
  }
  return folders;
}

std::vector<fs::path> usual_folders() {
  std::vector<fs::path> folders;
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"}) {
    if (const std::string root = environment(variable); !root.empty()) folders.push_back(fs::path(root) / "lib64");
  }
  folders.insert(folders.end(), {"/usr/local/cuda/lib64", "/opt/cuda/lib64", "/usr/lib/cuda/lib64"});
  for (const char* variable : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
    if (const std::string root = environment(variable); !root.empty()) {
      folders.push_back(fs::path(root) / "lib");
      add_python_folders(root, folders);
    }
  }
  if (const std::string home = environment("HOME"); !home.empty()) add_python_folders(home + "/.local", folders);
  add_python_folders("/usr/local", folders);
  add_python_folders("/usr", folders);
  return folders;
}

// Null when it cannot be opened; then `reason` says why, unless the file is simply not there.
void* open(const std::string& file, std::string& reason) {
  // CUDA's libraries must not be unloaded while the process lives.
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
      if (void* handle = open((folder / soname).string(), reason); handle != nullptr) return handle;
    }
  }
  return nullptr;
}

void* open_anywhere(const LibraryNeed& need, std::string& reason) {
  if (void* handle = open_in(named_folders(), need.sonames, reason); handle != nullptr) return handle;
  for (const std::string& soname : need.sonames) {
    if (void* handle = open(soname, reason); handle != nullptr) return handle;
  }
  return open_in(usual_folders(), need.sonames, reason);
}

}  // namespace

SharedLibrary::SharedLibrary(const LibraryNeed& need) : name_(need.name) {
  std::string reason;
  handle_ = open_anywhere(need, reason);
  if (handle_ == nullptr) {
    throw DeviceError(cat(need.purpose, " need ", need.name, ", but ", join(need.sonames, " or "),
                          reason.empty() ? " was not found" : cat(" cannot be opened: ", reason)),
                      {}, cat(need.hint, ", or name its folder in ", kVariable));
  }
  link_map* map = nullptr;
  if (dlinfo(handle_, RTLD_DI_LINKMAP, &map) == 0 && map != nullptr) path_ = map->l_name;
}

void* SharedLibrary::symbol(const char* name) const {
  void* address = dlsym(handle_, name);
  if (address == nullptr) {
    throw DeviceError(cat(name_, " (", path_, ") has no function ", name), {},
                      "use the version that this build was made for");
  }
  return address;
}

}  // namespace millrace::cuda
