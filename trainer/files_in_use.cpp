#include "millrace/trainer/files_in_use.h"

#include <sys/stat.h>

#include <filesystem>
#include <system_error>

#include "millrace/core/text.h"

namespace millrace {

namespace {

std::string message(const std::string& file, std::string_view use) {
  return cat("would overwrite ", quote(file, 4096), ", which this run ", use);
}

}  // namespace

bool same_file(const std::string& path, const std::string& other) {
  struct stat one {
  }, two{};
  const bool there = ::stat(path.c_str(), &one) == 0;
  if (there != (::stat(other.c_str(), &two) == 0)) return false;
  if (there) return one.st_dev == two.st_dev && one.st_ino == two.st_ino;
  std::error_code failure;
  const std::filesystem::path real = std::filesystem::weakly_canonical(std::filesystem::absolute(path), failure);
  return !failure && real == std::filesystem::weakly_canonical(std::filesystem::absolute(other), failure);
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
