// The Python that has onnx and onnxruntime: the one of scripts/onnx-python if it is there, else python3 as it is.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

#include "millrace/core/text.h"
#include "tests/support/paths.h"
#include "tests/support/run_command.h"

namespace millrace::cli {

// Puts it first in PATH, from which another test may have taken it. False if there is none.
inline bool use_onnx_python() {
  const std::string own = test::source_dir() + "/build/onnx-python/bin";
  const char* const set = std::getenv("PATH");
  const std::string path = set != nullptr ? set : "";
  if (std::filesystem::exists(own) && !path.starts_with(own)) ::setenv("PATH", cat(own, ':', path).c_str(), 1);
  static const bool kThere =
      testing::run_command({"/usr/bin/env", "python3", "-c", "import onnx, onnxruntime"}).exit_code == 0;
  return kThere;
}

// What the full checker of onnx says of the *.onnx files of a folder; empty: nothing.
inline std::string checker_messages(const std::string& folder) {
  const char* const program =
      "import glob, onnx, sys\n"
      "files = glob.glob(sys.argv[1] + '/*.onnx')\n"
      "assert files\n"
      "for file in files: onnx.checker.check_model(file, full_check=True)\n";
  const testing::CommandResult result = testing::run_command({"/usr/bin/env", "python3", "-c", program, folder});
  return result.exit_code == 0 ? std::string() : result.err + "no message";
}

}  // namespace millrace::cli
