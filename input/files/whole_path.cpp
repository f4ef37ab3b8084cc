#include "millrace/input/files/whole_path.h"

#include <filesystem>
#include <system_error>

namespace millrace {

std::string whole_path(const std::string& path) {
  std::error_code failure;
  const std::filesystem::path whole = std::filesystem::absolute(path, failure);
  return (failure ? std::filesystem::path(path) : whole).lexically_normal().string();
}

}  // namespace millrace
