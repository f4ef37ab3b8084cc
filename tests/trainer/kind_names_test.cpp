// Nothing above input/ and layers/ goes by the name of a kind or of one of its options: kinds say themselves what
// others want to know (core/options.h, OptionUse), so that those of programs and plug-ins fare alike.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "millrace/core/text.h"
#include "millrace/trainer/config/catalog.h"
#include "millrace/trainer/config/checkpoint_options.h"
#include "millrace/trainer/config/config.h"
#include "tests/support/paths.h"

namespace millrace {
namespace {

namespace fs = std::filesystem;

struct Known {
  std::set<std::string> kinds, options;
};

template <class Base>
void add_kinds(const Registry<Base>& registry, Known& known) {
  for (const KindInfo& kind : registry.describe()) {
    known.kinds.insert(kind.kind);
    for (const OptionInfo& option : kind.options) known.options.insert(option.name);
  }
}

// What the configuration itself calls so, too, means that.
Known known_names() {
  const Catalog catalog = Catalog::builtin();
  Known known;
  add_kinds(catalog.ops, known);
  add_kinds(catalog.layers.layers, known);
  add_kinds(catalog.layers.losses, known);
  add_kinds(catalog.layers.metrics, known);
  add_kinds(catalog.layers.optimizers, known);
  for (const OptionInfo& key : describe_config()) known.options.erase(key.name);
  for (const OptionInfo& key : describe_options<ValidationOptions>()) known.options.erase(key.name);
  for (const OptionInfo& key : describe_options<CheckpointOptions>()) known.options.erase(key.name);
  return known;
}

// The names of kinds that `code` compares with, and of options that it looks for.
std::vector<std::string> used_names(const std::string& code, const Known& known) {
  static const std::regex kCompared(R"re([=!]=\s*"(\w+)"|"(\w+)"\s*[=!]=)re");
  static const std::regex kFound(R"re((?:find|erase)\("(\w+)"\))re");
  std::vector<std::string> out;
  for (auto match = std::sregex_iterator(code.begin(), code.end(), kCompared); match != std::sregex_iterator();
       ++match) {
    const std::string name = (*match)[1].matched ? (*match)[1] : (*match)[2];
    if (known.kinds.contains(name)) out.push_back(name);
  }
  for (auto match = std::sregex_iterator(code.begin(), code.end(), kFound); match != std::sregex_iterator(); ++match) {
    if (known.options.contains((*match)[1])) out.push_back((*match)[1]);
  }
  return out;
}

TEST(KindNames, AreKnownToNobodyAboveTheKinds) {
  // A metric by its name in a report, a choice of --bad-rows; what `trainer init` writes is made of built-in kinds.
  const std::set<std::string> allowed = {"cli/report/result_text.cpp accuracy",
                                         "cli/commands/predict_command.cpp skip"};
  const Known known = known_names();
  const fs::path root(test::source_dir());
  size_t files = 0;
  for (const char* folder : {"trainer", "cli"}) {
    for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
      const std::string path = fs::relative(entry.path(), root).generic_string();
      if (!entry.is_regular_file() || path.starts_with("cli/init/")) continue;
      std::ifstream file(entry.path());
      const std::string code{std::istreambuf_iterator<char>(file), {}};
      for (const std::string& name : used_names(code, known)) {
        EXPECT_TRUE(allowed.contains(cat(path, ' ', name))) << path << " knows " << name;
      }
      ++files;
    }
  }
  EXPECT_GT(files, 100u) << "the sources were not found";
}

TEST(KindNames, TheRuleBites) {
  const Known known = known_names();
  EXPECT_EQ(used_names(R"(if (kind == "csv_reader") ..)", known), std::vector<std::string>{"csv_reader"});
  EXPECT_EQ(used_names(R"(if ("mse" != loss) ..)", known), std::vector<std::string>{"mse"});
  EXPECT_EQ(used_names(R"(options.find("chunk_bytes"))", known), std::vector<std::string>{"chunk_bytes"});
  EXPECT_TRUE(used_names(R"(config.find("input"), kind == "mine", json.key("batch"))", known).empty());
}

}  // namespace
}  // namespace millrace
