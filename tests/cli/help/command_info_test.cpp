#include "millrace/cli/help/command_info.h"

#include <gtest/gtest.h>

namespace millrace::cli {
namespace {

TEST(CommandInfoTest, ChoicesStandBetweenBars) {
  EXPECT_EQ(choices_of("a|b|c"), (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_TRUE(choices_of("FILE").empty());
  EXPECT_TRUE(choices_of("").empty());
}

TEST(CommandInfoTest, AllCommandsOuterOnesFirst) {
  const CommandInfo program{"", {}, {{"a", {}, {{"a b", {}, {}}}}, {"c", {}, {}}}};
  std::string lines;
  for (const CommandInfo* command : all_commands(program)) lines += command_line(*command) + ';';
  EXPECT_EQ(lines, "trainer;trainer a;trainer a b;trainer c;");
  EXPECT_EQ(last_word("a b"), "b");
  EXPECT_EQ(last_word("a"), "a");
}

}  // namespace
}  // namespace millrace::cli
