#include "millrace/trainer/input_paths.h"

#include <filesystem>

#include "millrace/core/text.h"
#include "millrace/input/graph/file_system.h"

namespace millrace {

namespace {

void add_patterns(const Spec& spec, bool wanted, std::vector<std::string>& out) {
  if (spec.is_scalar() && wanted) out.push_back(spec.as_string());
  if (spec.is_list()) {
    for (const Spec& item : spec.items()) add_patterns(item, wanted, out);
  }
  if (!spec.is_map()) return;
  for (const auto& [key, value] : spec.entries()) add_patterns(value, key == "files" || key == "file", out);
}

}  // namespace

std::vector<std::string> input_patterns(const Spec& input) {
  std::vector<std::string> out;
  add_patterns(input, false, out);
  return out;
}

std::string hint_beside_config(const Spec& input, const std::string& config) {
  const std::filesystem::path folder = std::filesystem::path(config).parent_path();
  if (folder.empty()) return {};
  for (const std::string& pattern : input_patterns(input)) {
    if (pattern.empty() || std::filesystem::path(pattern).is_absolute()) continue;
    if (!FileSystem::local().match(pattern).empty()) continue;
    const std::vector<std::string> beside = FileSystem::local().match((folder / pattern).string());
    if (!beside.empty()) {
      return cat("paths are relative to the current folder; beside the configuration there is ", beside.front());
    }
  }
  return {};
}

}  // namespace millrace
