#include "millrace/trainer/cli/input_files.h"

#include <filesystem>
#include <vector>

#include "millrace/core/text.h"
#include "millrace/input/graph/file_system.h"
#include "millrace/trainer/cli/usage_error.h"

namespace millrace::cli {

namespace {

// Every text below the keys `files` and `file`.
void add_patterns(const Spec& spec, bool wanted, std::vector<std::string>& out) {
  if (spec.is_scalar() && wanted) out.push_back(spec.as_string());
  if (spec.is_list()) {
    for (const Spec& item : spec.items()) add_patterns(item, wanted, out);
  }
  if (!spec.is_map()) return;
  for (const auto& [key, value] : spec.entries()) add_patterns(value, key == "files" || key == "file", out);
}

}  // namespace

void check_not_an_input(const std::string& path, const Spec& input, const std::string& config) {
  std::vector<std::string> patterns, files = {config};
  add_patterns(input, false, patterns);
  for (const std::string& pattern : patterns) {
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
