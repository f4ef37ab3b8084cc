// What this build is and what it runs on, for `--version` and bug reports.
#pragma once

#include <string>
#include <vector>

namespace millrace {

struct VersionInfo {
  std::string version;                 // "0.1.0"
  std::string build_type;              // "Release"
  std::string compiler;                // "g++ 12.2.0"
  std::string cuda;                    // the toolkit's version; empty when built without CUDA
  std::vector<std::string> processor;  // "avx2", "avx512f", ...: what this processor has and a kernel may use
  std::string onednn;                  // as loaded, not as compiled against
  std::string onetbb;
};

// Never throws but for memory; touches no device.
VersionInfo version_info();

}  // namespace millrace
