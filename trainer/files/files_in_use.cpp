#include "millrace/trainer/files/files_in_use.h"

#include <sys/stat.h>

#include <filesystem>
#include <set>
#include <system_error>
#include <utility>

#include "millrace/core/text.h"

namespace millrace {

namespace {

std::string message(const std::string& file, std::string_view use) {
  return cat("would overwrite ", quote(file, 4096), ", which this run ", use);
}

}  // namespace

bool same_file(const std::string& path, const std::string& other) {
  FileSystem& files = FileSystem::local();
  if (files.same(path, other)) return true;
  if (files.type(path) != FileSystem::Type::none || files.type(other) != FileSystem::Type::none) return false;
  if (path.empty() || other.empty()) return false;
  std::error_code failure;
  const std::filesystem::path real = std::filesystem::weakly_canonical(std::filesystem::absolute(path), failure);
  return !failure && real == std::filesystem::weakly_canonical(std::filesystem::absolute(other), failure);
}

std::string first_shared(std::span<const std::string> others, std::span<const std::string> paths) {
  std::set<std::pair<dev_t, ino_t>> known;
  struct stat status {};
  for (const std::string& path : others) {
    if (::stat(path.c_str(), &status) == 0) known.emplace(status.st_dev, status.st_ino);
  }
  for (const std::string& path : paths) {
    if (::stat(path.c_str(), &status) == 0 && known.contains({status.st_dev, status.st_ino})) return path;
  }
  return {};
}

std::string would_overwrite(const std::string& path, const InputFiles& files, const std::string& config) {
  if (same_file(path, config)) return message(config, "reads");
  for (const std::string& file : files.read) {
    if (same_file(path, file)) return message(file, "reads");
  }
  for (const std::string& file : files.written) {
    if (same_file(path, file)) return message(file, "writes");
  }
  return {};
}

}  // namespace millrace
