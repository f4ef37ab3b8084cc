#include "tests/support/paths.h"

#include <cstdlib>

namespace millrace::test {

namespace {

std::string path_from(const char* variable, const char* built_with) {
  const char* moved = std::getenv(variable);
  return moved != nullptr && *moved != '\0' ? moved : built_with;
}

}  // namespace

std::string source_dir() { return path_from("MILLRACE_SOURCE_DIR", MILLRACE_SOURCE_DIR); }
std::string binary_dir() { return path_from("MILLRACE_BINARY_DIR", MILLRACE_BINARY_DIR); }

}  // namespace millrace::test
