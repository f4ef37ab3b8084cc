// Where tests find the repository's files and the built programs. The environment variables MILLRACE_SOURCE_DIR and
// MILLRACE_BINARY_DIR move both, so that test programs run on another machine than the one that built them.
#pragma once

#include <string>

namespace millrace::test {

// The repository: configs/, tests/golden/, ...
std::string source_dir();
// The build folder, where the programs are.
std::string binary_dir();
// A plug-in that is built for the tests.
inline std::string plugin(const std::string& name) { return binary_dir() + "/tests/" + name + ".so"; }

}  // namespace millrace::test
