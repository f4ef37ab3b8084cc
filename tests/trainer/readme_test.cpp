// The README's program is the one in examples/, and its configuration trains.
#include <gtest/gtest.h>

#include "millrace/trainer/config.h"
#include "millrace/trainer/yaml.h"
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
  EXPECT_EQ(block(readme, "cpp"), TempFolder::read(test::source_dir() + "/examples/embed.cpp"));
}

TEST(Readme, ShowsTheNotebooksConfiguration) {
  const std::string readme = TempFolder::read(test::source_dir() + "/README.md");
  const Config shown = read_config(parse_yaml(block(readme, "yaml"), "README.md"), Catalog::builtin());
  const Config file = read_config(read_yaml_file(test::source_dir() + "/configs/mlp.yaml"), Catalog::builtin());
  EXPECT_EQ(shown.seed, file.seed);
  EXPECT_EQ(shown.layers.size(), file.layers.size());
  EXPECT_EQ(shown.train.log_every, file.train.log_every);
  EXPECT_EQ(shown.input.size(), file.input.size());
  EXPECT_EQ(shown.loss.kind, file.loss.kind);
}

}  // namespace
}  // namespace millrace
