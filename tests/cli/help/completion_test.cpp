#include "millrace/cli/help/help.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "millrace/cli/commands/commands.h"
#include "tests/support/temp_folder.h"
#include "tests/support/trainer_program.h"

namespace millrace::cli {
namespace {

using ::millrace::testing::CommandResult;
using ::millrace::testing::run_command;
using ::millrace::testing::run_trainer;

std::string script_of(const std::string& shell) {
  const CommandResult result = run_trainer({"completion", shell});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  return result.out;
}

// The names of the commands below `above` that begin with `typed`, in the order of the help; one line each.
std::string commands_below(const Command& above, const std::string& typed) {
  std::string out;
  for (const Command& command : above.commands) {
    if (command.name().starts_with(typed)) out += command.name() + '\n';
  }
  return out;
}

// What bash offers behind these words, the last of which is being typed; one line each.
class BashCompletionTest : public ::testing::Test {
 protected:
  BashCompletionTest() { folder_.write("trainer.bash", script_of("bash")); }

  std::string complete(const std::string& words) {
    const std::string body = "source ./trainer.bash\nCOMP_WORDS=(trainer " + words +
                             ")\nCOMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n_trainer '" + testing::trainer_program() +
                             "'\n"
                             "(( ${#COMPREPLY[@]} == 0 )) || printf '%s\\n' \"${COMPREPLY[@]}\"";
    const CommandResult result = run_command({"/bin/bash", "--norc", "-c", body}, {.folder = folder_.path()});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(result.err, "");
    return result.out;
  }

  TempFolder folder_;
};

TEST_F(BashCompletionTest, Subcommands) {
  const Command all = program();
  const Command* const generate = all.below("generate");
  ASSERT_NE(generate, nullptr);
  EXPECT_EQ(complete("chec"), "check\ncheckpoints\n");
  EXPECT_EQ(complete("generate ''"), commands_below(*generate, ""));
  EXPECT_EQ(complete("co"), commands_below(all, "co"));
  EXPECT_EQ(complete("no_such_command"), "");
}

TEST_F(BashCompletionTest, Flags) {
  EXPECT_EQ(complete("--conf"), "--config\n");
  EXPECT_EQ(complete("check --pr"), "--print\n");
  EXPECT_EQ(complete("generate sum --fe"), "--features\n");
  EXPECT_EQ(complete("generate images --fe"), "");
  EXPECT_EQ(complete("generate images --s"), "--seed\n--size\n");
  EXPECT_EQ(complete("ops --sa"), "");
}

TEST_F(BashCompletionTest, Files) {
  folder_.write("my model.yaml", "");
  EXPECT_EQ(complete("--config my"), "my model.yaml\n");
  EXPECT_EQ(complete("check my"), "my model.yaml\n");
  EXPECT_EQ(complete("check --config = my"), "my model.yaml\n");
  EXPECT_EQ(complete("train --resume = my"), "my model.yaml\n");
  EXPECT_EQ(complete("train --set my"), "");
  EXPECT_EQ(complete("schema my"), "");
}

TEST_F(BashCompletionTest, ValuesAndKinds) {
  EXPECT_EQ(complete("input --format ''"), "jsonl\ncsv\nnone\n");
  EXPECT_EQ(complete("input --format = c"), "csv\n");
  EXPECT_EQ(complete("input --format ="), "jsonl\ncsv\nnone\n");
  EXPECT_EQ(complete("completion f"), "fish\n");
  EXPECT_EQ(complete("ops shuf"), "shuffle_batch\n");
  EXPECT_EQ(complete("layers den"), "dense\n");
  EXPECT_EQ(complete("layers sigmoid_c"), "sigmoid_cross_entropy\n");
  EXPECT_EQ(complete("layers metr"), "metrics\n");
  EXPECT_EQ(complete("config opt"), "optimizer\n");
  EXPECT_EQ(complete("input --batches 1"), "");
}

// Syntax, where the shell is installed.
void expect_parses(const std::string& shell, const std::string& check, const std::string& script) {
  const TempFolder folder;
  folder.write("script", script);
  const std::string program = "/usr/bin/" + shell;
  if (::access(program.c_str(), X_OK) != 0) return;
  const CommandResult result = run_command({program, check, "script"}, {.folder = folder.path()});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.err, "");
}

TEST(CompletionTest, ScriptsParse) {
  expect_parses("zsh", "-n", script_of("zsh"));
  expect_parses("fish", "--no-execute", script_of("fish"));
  EXPECT_TRUE(script_of("zsh").starts_with("#compdef trainer\n"));
}

std::string offered(const std::vector<std::string>& words) { return completions(words, program()); }

TEST(CompletionTest, WordsHaveTheirMeaning) {
  EXPECT_EQ(offered({"generate", "su"}),
            "sum\tCSV files of normal numbers, labelled by whether their sum is positive.\n");
  EXPECT_EQ(offered({"check", "--p"}),
            "--plugin\tadd the kinds of the plug-in FILE; may be repeated\n"
            "--print\tprint the configuration with every default\n");
  EXPECT_EQ(offered({"train", "-q"}), "-q\thide progress, warnings and log lines\n");
  EXPECT_EQ(offered({}), "");
}

TEST(CompletionTest, ValuesOfOptions) {
  EXPECT_EQ(offered({"input", "--format", ""}), "jsonl\ncsv\nnone\n");
  EXPECT_EQ(offered({"check", "--config", ""}), ":files\n");
  EXPECT_EQ(offered({"check", "--set", "a"}), "");
  EXPECT_EQ(offered({"input", "--config", "check", "--for"}), "--format\thow batches are written, see below\n")
      << "a value is no subcommand";
  EXPECT_EQ(offered({"schema", ""}), "");
}

TEST(CompletionTest, ValuesAfterAnEqualsSign) {
  EXPECT_EQ(offered({"input", "--format=c"}), "--format=csv\n");
  EXPECT_EQ(offered({"input", "--nothing=c"}), "");
  EXPECT_EQ(offered({"train", "--resume=m"}), ":files\n");
  EXPECT_EQ(offered({"train", "--resume", "=", "m"}), ":files\n") << "as bash has it";
  EXPECT_EQ(offered({"train", "--resume", "--js"}), "--json\tprint events as lines of JSON on standard output\n")
      << "without an equals sign no value follows";
  EXPECT_EQ(offered({"input", "--format", "=", "c"}), "csv\n") << "as bash has it";
  EXPECT_EQ(offered({"input", "--format", "="}), "jsonl\ncsv\nnone\n");
}

}  // namespace
}  // namespace millrace::cli
