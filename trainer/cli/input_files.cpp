#include "millrace/trainer/cli/input_files.h"

#include <filesystem>
#include <vector>

#include "millrace/core/text.h"
#include "millrace/input/graph/file_system.h"
#include "millrace/trainer/cli/usage_error.h"
#include "millrace/trainer/input_paths.h"

namespace millrace::cli {

void check_not_an_input(const std::string& path, const Spec& input, const std::string& config) {
  std::vector<std::string> files = {config};
  for (const std::string& pattern : input_patterns(input)) {
    for (std::string& file : FileSystem::local().match(pattern)) files.push_back(std::move(file));
    files.push_back(pattern);
  }
  for (const std::string& file : files) {
    std::error_code ignored;
    if (std::filesystem::equivalent(path, file, ignored)) {
      throw UsageError(
          cat("--out ", quote(path, 4096), " would overwrite ", quote(file, 4096), ", which this run reads"), {},
          "give it another name");
    }
  }
}

}  // namespace millrace::cli
