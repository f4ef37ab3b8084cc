#include "millrace/cli/help/completion.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "millrace/cli/arguments/arguments.h"
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

// What bash offers behind these words, the last of which is being typed; one line each.
class BashCompletionTest : public ::testing::Test {
 protected:
  BashCompletionTest() { folder_.write("trainer.bash", script_of("bash")); }

  std::string complete(const std::string& words) {
    const std::string body = "source ./trainer.bash\nCOMP_WORDS=(trainer " + words +
                             ")\nCOMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n_trainer\n"
                             "(( ${#COMPREPLY[@]} == 0 )) || printf '%s\\n' \"${COMPREPLY[@]}\"";
    const CommandResult result = run_command({"/bin/bash", "--norc", "-c", body}, {.folder = folder_.path()});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(result.err, "");
    return result.out;
  }

  TempFolder folder_;
};

TEST_F(BashCompletionTest, Subcommands) {
  EXPECT_EQ(complete("ch"), "check\n");
  EXPECT_EQ(complete("generate ''"), "sum\nimages\n");
  EXPECT_EQ(complete("co"), "compare\nconfig\ncompletion\n");
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
  EXPECT_EQ(complete("train --set my"), "");
  EXPECT_EQ(complete("schema my"), "");
}

TEST_F(BashCompletionTest, ValuesAndKinds) {
  EXPECT_EQ(complete("input --format ''"), "jsonl\ncsv\nnone\n");
  EXPECT_EQ(complete("input --format = c"), "csv\n");
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

TEST(CompletionTest, Zsh) {
  const std::string script = script_of("zsh");
  expect_parses("zsh", "-n", script);
  EXPECT_TRUE(script.starts_with("#compdef trainer\n"));
  for (const char* part :
       {"' train') command='train' ;;\n", "'generate sum') command='generate sum' ;;\n",
        "'input:--format') compadd -- jsonl csv none; return ;;\n", "'check:--config') _files; return ;;\n",
        " '--print:print the configuration with every default'", " 'check:Checks everything but the training",
        " 'shuffle_batch'"}) {
    EXPECT_NE(script.find(part), std::string::npos) << part << "\nis not in\n" << script;
  }
}

TEST(CompletionTest, Fish) {
  const std::string script = script_of("fish");
  expect_parses("fish", "--no-execute", script);
  for (const char* part : {"            case ' train'\n                set command 'train'\n",
                           "complete -c trainer -n '__trainer_is \"\"' -a check -d 'Checks everything but the training",
                           "complete -c trainer -n '__trainer_is \"input\"' -l format -x -a 'jsonl csv none' -d ",
                           "complete -c trainer -n '__trainer_is \"check\"' -l config -r -F -d ",
                           "complete -c trainer -n '__trainer_is \"train\"' -s q -l quiet -d "}) {
    EXPECT_NE(script.find(part), std::string::npos) << part << "\nis not in\n" << script;
  }
}

TEST(CompletionTest, QuotesSurviveInDescriptions) {
  const CommandInfo program{"", {{{"--x"}, "", "", "the user's", ""}}, {}};
  const auto none = [](const std::string&) { return std::vector<std::string>(); };
  EXPECT_NE(completion_script(Shell::zsh, program, none).find(R"('--x:the user'\''s')"), std::string::npos);
  EXPECT_NE(completion_script(Shell::fish, program, none).find(R"('the user\'s')"), std::string::npos);
}

}  // namespace
}  // namespace millrace::cli
