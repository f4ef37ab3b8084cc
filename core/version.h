// The library's version and the system that it runs on: for --version, saved models and bug reports.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "millrace/core/export.h"

namespace millrace {

// "0.1.0".
MILLRACE_EXPORT std::string_view version();

struct BuildDescription {
  std::string_view build_type;         // "Release"
  std::string cuda;                    // "13.0", or empty if built without CUDA
  std::vector<std::string> libraries;  // "oneDNN 2.6.3", ...: as loaded, not as compiled against
  std::vector<std::string> processor;  // instruction sets of this machine that kernels choose by
  // What a build may do without ("cuda", and see cmake/MillraceCapabilities.cmake), by whether this one has it.
  std::vector<std::string> capabilities, left_out;
};
MILLRACE_EXPORT BuildDescription describe_build();

}  // namespace millrace
