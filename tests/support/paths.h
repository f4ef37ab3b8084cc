// Where tests find the repository's files and the built programs. Environment variables of the same names move both, so
// that test programs run on another machine than the one that built them.
#pragma once

#include <cstdlib>
#include <string>

namespace millrace::test {

inline std::string path_from(const char* variable, const char* built_with) {
  const char* moved = std::getenv(variable);
  return moved != nullptr && *moved != '\0' ? moved : built_with;
}

// The repository: configs/, tests/golden/, ...
inline std::string source_dir() { return path_from("MILLRACE_SOURCE_DIR", MILLRACE_SOURCE_DIR); }
// The build folder, where the programs are.
inline std::string binary_dir() { return path_from("MILLRACE_BINARY_DIR", MILLRACE_BINARY_DIR); }

}  // namespace millrace::test
