// The program's ends that belong to no command.
#include "millrace/cli/run.h"

#include <gtest/gtest.h>

#include <csignal>
#include <nlohmann/json.hpp>

#include "millrace/cli/commands/commands.h"
#include "millrace/cli/help/help.h"
#include "tests/support/temp_folder.h"
#include "tests/support/trainer_program.h"

namespace millrace::cli {
namespace {

using ::millrace::testing::CommandResult;
using ::millrace::testing::run_trainer;

TEST(RunTest, NothingToDoShowsTheShortHelp) {
  const CommandResult result = run_trainer({});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.err, short_help(program()));
  EXPECT_EQ(result.out, "");
}

TEST(RunTest, HelpIsAResult) {
  const CommandResult result = run_trainer({"--help"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.err, "");
  EXPECT_TRUE(result.out.starts_with("Trains a model")) << result.out;
}

TEST(RunTest, UsageErrorsEndWithTwo) {
  const CommandResult result = run_trainer({"--confg", "a.yaml"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.err,
            "error: unknown option --confg\nhint: did you mean --config? (trainer --help shows the usage)\n");
  EXPECT_EQ(result.out, "");
}

TEST(RunTest, UsageErrorsAreEventsToo) {
  const CommandResult result = run_trainer({"chekc", "--json"});
  EXPECT_EQ(result.exit_code, 2);
  const nlohmann::json event = nlohmann::json::parse(result.out);
  EXPECT_EQ(event["event"], "error");
  EXPECT_EQ(event["kind"], "usage");
  EXPECT_TRUE(event["file"].is_null());
  EXPECT_EQ(event["hint"], "did you mean check? (trainer --help shows the usage)");
}

TEST(RunTest, MissingConfiguration) {
  const TempFolder folder;
  const CommandResult result = run_trainer({"--config", "none.yaml"}, {.folder = folder.path()});
  EXPECT_EQ(result.exit_code, 66);
  EXPECT_TRUE(result.err.starts_with("error: none.yaml: ")) << result.err;
}

TEST(RunTest, FolderAsConfiguration) {
  const TempFolder folder;
  const CommandResult result = run_trainer({"--config", folder.path()});
  EXPECT_EQ(result.exit_code, 66);
  EXPECT_TRUE(result.err.starts_with("error: " + folder.path() + ": ")) << result.err;
}

TEST(RunTest, ColorsAreForTerminalsThatWantThem) {
  const auto error_with = [](const std::string& variable) {
    const CommandResult result = run_trainer({"--confg"}, {.environment = {"TERM=xterm", variable}, .terminal = true});
    EXPECT_EQ(result.exit_code, 2);
    return result.err;
  };
  EXPECT_EQ(error_with("NO_COLOR="),
            "\x1b[1;31merror:\x1b[0m unknown option --confg\r\n\x1b[1;36mhint:\x1b[0m did you mean --config? (trainer "
            "--help shows the usage)\r\n");
  EXPECT_EQ(error_with("NO_COLOR=1"),
            "error: unknown option --confg\r\nhint: did you mean --config? (trainer --help shows the usage)\r\n");
}

TEST(RunTest, FullDiskShowsInHelp) {
  const CommandResult result = run_trainer({"--help"}, {.folder = {}, .environment = {}, .out_file = "/dev/full"});
  EXPECT_EQ(result.exit_code, 74);
  EXPECT_EQ(result.err, "error: standard output: writing failed: No space left on device\n");
}

TEST(RunTest, ASignalEndsAReportThatNobodyReads) {
  testing::Command command(testing::trainer_words({"chekc", "--json"}), {.full_out = true});
  ASSERT_TRUE(command.wait_for_err("unknown subcommand"));
  command.send(SIGTERM);
  EXPECT_EQ(command.finish_unread().exit_code, 143);
}

TEST(RunTest, ClosedStandardOutputIsAnError) {
  const CommandResult result =
      testing::run_command({"/bin/sh", "-c", "exec '" + testing::trainer_program() + "' --version >&-"});
  EXPECT_EQ(result.exit_code, 74);
  EXPECT_EQ(result.err, "error: standard output: writing failed: Bad file descriptor\n");
}

}  // namespace
}  // namespace millrace::cli
