#include "millrace/cli/help/command_description.h"

#include <gtest/gtest.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

namespace millrace::cli {
namespace {

TEST(CommandDescriptionTest, TakesOptionsAndSubcommands) {
  CLI::App app{"", "trainer"};
  std::string text, shell;
  bool flag = false;
  app.add_option("--save", text, "the file")->type_name("FILE")->default_str("m")->group("OUTPUT");
  app.add_flag("-q,--quiet", flag, "say nothing");
  CLI::App& outer = *app.add_subcommand("generate");
  CLI::App& inner = *outer.add_subcommand("sum");
  inner.add_option("OP", text, "one of them");
  inner.add_option("SHELL", shell, "one of these")->type_name("bash|zsh");

  const CommandInfo info = describe_command(app);
  EXPECT_EQ(info.path, "");
  ASSERT_EQ(info.arguments.size(), 3u);
  EXPECT_EQ(info.arguments[0].names, (std::vector<std::string>{"-h", "--help"}));
  EXPECT_EQ(info.arguments[1].names, std::vector<std::string>{"--save"});
  EXPECT_EQ(info.arguments[1].value, "FILE");
  EXPECT_EQ(info.arguments[1].default_value, "m");
  EXPECT_EQ(info.arguments[1].group, "OUTPUT");
  EXPECT_EQ(info.arguments[2].value, "");
  EXPECT_EQ(info.arguments[2].group, "");
  const CommandInfo& sum = info.commands.at(0).commands.at(0);
  EXPECT_EQ(sum.path, "generate sum");
  EXPECT_TRUE(sum.arguments.at(1).names.empty());
  EXPECT_EQ(sum.arguments[1].value, "OP");
  EXPECT_EQ(sum.arguments.at(2).value, "bash|zsh");
  EXPECT_EQ(path_of(inner), "generate sum");

  app.parse("generate sum x");
  EXPECT_EQ(&innermost(app), &inner);
}

}  // namespace
}  // namespace millrace::cli
