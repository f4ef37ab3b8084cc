// The README's program is the one in examples/, and its configuration trains.
#include <gtest/gtest.h>

#include "millrace/cli/generate/generate.h"
#include "millrace/trainer/config/config.h"
#include "millrace/trainer/config/overrides.h"
#include "millrace/trainer/files/yaml.h"
#include "millrace/trainer/files/yaml_writer.h"
#include "millrace/trainer/trainer.h"
#include "tests/support/paths.h"
#include "tests/support/temp_folder.h"

namespace millrace {
namespace {

// The first block of `language` in the text.
std::string block(const std::string& text, const std::string& language) {
  const std::string fence = "```" + language + "\n";
  const size_t begin = text.find(fence);
  if (begin == std::string::npos) return {};
  return text.substr(begin + fence.size(), text.find("```", begin + 3) - begin - fence.size());
}

TEST(Readme, ShowsTheExample) {
  const std::string readme = TempFolder::read(test::source_dir() + "/README.md");
  EXPECT_EQ(block(readme, "cpp"), TempFolder::read(test::source_dir() + "/examples/embed/embed.cpp"));
}

// The configuration with every default, its files replaced by those of `folder`.
std::string resolved(Spec config, const TempFolder& folder) {
  apply_override(config, "input.filename_queue.files=\"" + folder.path("examples-*.csv") + "\"");
  return to_yaml(Trainer::from_spec(std::move(config)).config().resolved);
}

TEST(Readme, ShowsTheNotebooksConfiguration) {
  const std::string readme = TempFolder::read(test::source_dir() + "/README.md");
  const Spec shown = parse_yaml(block(readme, "yaml"), "README.md");
  const Spec file = read_yaml_file(test::source_dir() + "/configs/mlp.yaml");
  const auto files = [](const Spec& config) {
    return kind_and_options(config.find("input")->items()[0], "an op").options.find("files")->as_string();
  };
  EXPECT_EQ(files(shown), files(file));
  const TempFolder folder;
  generate_sum({.folder = folder.path(), .files = 1, .rows = 1});
  EXPECT_EQ(resolved(shown, folder), resolved(file, folder));
}

}  // namespace
}  // namespace millrace
