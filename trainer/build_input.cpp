#include "millrace/trainer/build_input.h"

#include <filesystem>
#include <string>
#include <vector>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"

namespace millrace {

namespace {

// The patterns of every `files` option of the list.
std::vector<std::string> file_patterns(const Spec& input) {
  std::vector<std::string> out;
  for (const Spec& item : input.items()) {
    const Spec options = kind_and_options(item, "an input op").options;
    const Spec* files = options.find("files");
    if (files == nullptr) continue;
    for (const std::string& pattern : OptionType<std::vector<std::string>>::read(*files)) out.push_back(pattern);
  }
  return out;
}

// The first pattern that matches nothing here but something beside the configuration, with that folder; else empty.
std::string beside_configuration(const Spec& input) {
  const std::filesystem::path folder = std::filesystem::path(input.place().file).parent_path();
  if (folder.empty()) return {};
  for (const std::string& pattern : file_patterns(input)) {
    if (std::filesystem::path(pattern).is_absolute() || !FileSystem::local().match(pattern).empty()) continue;
    const std::string there = (folder / pattern).string();
    if (!FileSystem::local().match(there).empty()) return there;
  }
  return {};
}

}  // namespace

InputGraph build_input(const Config& config, const Catalog& catalog) {
  try {
    return InputGraph::build(config.input, catalog.ops, {.seed = config.seed});
  } catch (const MissingError& error) {
    const std::string there = beside_configuration(config.input);
    if (there.empty()) throw;
    throw MissingError(
        error.message(), error.place(),
        cat("paths are relative to the current folder, and ", quote(there, 4096), " exists: run it from there"));
  }
}

}  // namespace millrace
