#include "millrace/core/cuda/shared_library.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <utility>

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

LibraryNeed with_folders(LibraryNeed need) {
  need.hint += cat(", or name its folder in ", kVariable);
  need.missing = ErrorKind::device;
  need.first = named_folders();
  need.last = usual_folders();
  return need;
}

}  // namespace

SharedLibrary::SharedLibrary(LibraryNeed need) : millrace::SharedLibrary(with_folders(std::move(need))) {}

}  // namespace millrace::cuda
