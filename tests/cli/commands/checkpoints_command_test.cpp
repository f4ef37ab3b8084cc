// `trainer checkpoints`, from outside.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "millrace/core/text.h"
#include "tests/support/temp_folder.h"
#include "tests/support/trainer_program.h"
#include "tests/trainer/checkpoint/checkpoint_testing.h"

namespace millrace::cli {
namespace {

using ::millrace::testing::CommandResult;
using ::millrace::testing::run_trainer;
using ::testing::MatchesRegex;

class CheckpointsCommandTest : public ::testing::Test {
 protected:
  std::string write(uint64_t step, std::optional<double> loss) {
    std::filesystem::create_directories(folder_.path("runs"));
    test::MadeCheckpoint made(step);
    made.parts.loss = loss;
    write_checkpoint(folder_.path(path(step)), made.parts);
    return folder_.path(path(step));
  }
  static std::string path(uint64_t step) { return "runs/" + checkpoint_name(step); }
  void cut(uint64_t step) { std::filesystem::resize_file(folder_.path(path(step)), 300); }

  CommandResult run(const std::string& folder, std::vector<std::string> more = {}) {
    more.insert(more.begin(), {"checkpoints", folder});
    return run_trainer(std::move(more), {.folder = folder_.path(), .environment = {"TZ=UTC-1"}});
  }

  const TempFolder folder_;
};

TEST_F(CheckpointsCommandTest, ListsThem) {
  write(500, 0.25);
  write(0, {});
  write(1000, std::nan(""));
  const CommandResult result = run("runs");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const std::string time = "  20[0-9][0-9]-[0-9][0-9]-[0-9][0-9] [0-9][0-9]:[0-9][0-9]:[0-9][0-9]  ";
  EXPECT_THAT(result.out, MatchesRegex("step 0" + time + "[0-9.]+ [a-zA-Z]+  whole\nstep 500" + time +
                                       "loss 0.25  [0-9.]+ [a-zA-Z]+  whole\nstep 1000" + time +
                                       "loss nan  [0-9.]+ [a-zA-Z]+  whole, the newest\n"));
}

TEST_F(CheckpointsCommandTest, SaysWhichCannotBeUsedAndWhy) {
  write(500, 0.25);
  write(1000, 0.125);
  cut(1000);
  const CommandResult result = run("runs");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.out.find("  loss 0.25  "), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("  whole, the newest\nstep 1000  "), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("  300 bytes  this checkpoint cannot be used: "), std::string::npos) << result.out;
}

TEST_F(CheckpointsCommandTest, ListsThemForPrograms) {
  write(500, 0.25);
  const auto size = std::filesystem::file_size(folder_.path(path(500)));
  write(1000, 0.125);
  cut(1000);
  const CommandResult result = run("runs", {"--json"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const nlohmann::json event = nlohmann::json::parse(result.out);
  EXPECT_EQ(event["event"], "checkpoints");
  EXPECT_EQ(event["folder"], "runs");
  ASSERT_EQ(event["checkpoints"].size(), 2u);
  const nlohmann::json& whole = event["checkpoints"][0];
  EXPECT_EQ(whole["step"], 500);
  EXPECT_EQ(whole["file"], path(500));
  EXPECT_EQ(whole["loss"], 0.25);
  EXPECT_EQ(whole["bytes"], size);
  EXPECT_EQ(whole["whole"], true);
  EXPECT_EQ(whole["newest"], true);
  EXPECT_TRUE(whole["fault"].is_null());
  EXPECT_THAT(whole["time"].get<std::string>(), MatchesRegex("20.*T[0-9:]*\\+0100"));
  const nlohmann::json& torn = event["checkpoints"][1];
  EXPECT_EQ(torn["whole"], false);
  EXPECT_EQ(torn["newest"], false);
  EXPECT_TRUE(torn["loss"].is_null());
  EXPECT_TRUE(torn["fault"].get<std::string>().starts_with("this checkpoint cannot be used: ")) << torn["fault"];
}

TEST_F(CheckpointsCommandTest, NoneIsNoFailure) {
  std::filesystem::create_directory(folder_.path("runs"));
  folder_.write("runs/checkpoint-500.safetensors", "");
  const CommandResult result = run("runs");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, "no checkpoints are in runs\n");
  EXPECT_EQ(run("runs", {"--json"}).out,
            "{\"v\":1,\"event\":\"checkpoints\",\"folder\":\"runs\",\"checkpoints\":[]}\n");
}

TEST_F(CheckpointsCommandTest, NoneThatCanBeUsedIsOne) {
  write(500, 0.25);
  cut(500);
  const CommandResult result = run("runs");
  EXPECT_EQ(result.exit_code, 65);
  EXPECT_TRUE(result.out.starts_with("step 500  ")) << result.out;
  EXPECT_EQ(result.err, "error: runs: no checkpoint can be used\nhint: move them away to begin anew\n");
}

TEST_F(CheckpointsCommandTest, LinksThatLeadNowhereCannotBeUsed) {
  std::filesystem::create_directory(folder_.path("runs"));
  std::filesystem::create_symlink("nowhere", folder_.path(path(500)));
  std::filesystem::create_symlink(checkpoint_name(1000), folder_.path(path(1000)));
  const CommandResult result = run("runs");
  EXPECT_EQ(result.exit_code, 65);
  EXPECT_EQ(result.out,
            "step 500  0 bytes  cannot read the checkpoint: No such file or directory\n"
            "step 1000  0 bytes  cannot read the checkpoint: Too many levels of symbolic links\n");
  EXPECT_EQ(result.err, "error: runs: no checkpoint can be used\nhint: move them away to begin anew\n");
  write(200, 0.25);
  const CommandResult older = run("runs");
  EXPECT_EQ(older.exit_code, 0) << older.err;
  EXPECT_NE(older.out.find("  whole, the newest\nstep 500  "), std::string::npos) << older.out;
}

TEST_F(CheckpointsCommandTest, ANewerFormatIsRefusedAsByResume) {
  write(500, 0.25);
  const std::string newer = write(1000, 0.125);
  const std::string bytes =
      test::changed_header(TempFolder::read(newer), "\"checkpoint\":\"1\"", "\"checkpoint\":\"2\"");
  folder_.write(path(1000), bytes);
  const std::string why = "a checkpoint of format \"2\", and version ";
  const CommandResult result = run("runs");
  EXPECT_EQ(result.exit_code, 78);
  EXPECT_NE(result.out.find("  whole\nstep 1000  "), std::string::npos) << result.out;
  EXPECT_NE(result.out.find(why), std::string::npos) << result.out;
  EXPECT_TRUE(result.err.starts_with(cat("error: ", path(1000), ": ", why))) << result.err;
  const std::string lines = run("runs", {"--json"}).out;
  for (const auto& one : nlohmann::json::parse(lines.substr(0, lines.find('\n')))["checkpoints"]) {
    EXPECT_EQ(one["newest"], false) << one;
  }
  // A newer checkpoint of this version ends the search before.
  write(1500, 0.125);
  const CommandResult later = run("runs");
  EXPECT_EQ(later.exit_code, 0) << later.err;
  EXPECT_NE(later.out.find("  whole, the newest\n"), std::string::npos) << later.out;
}

TEST_F(CheckpointsCommandTest, NeedsAFolder) {
  const CommandResult missing = run("runs");
  EXPECT_EQ(missing.exit_code, 66);
  EXPECT_EQ(missing.err, "error: runs: cannot list the folder: No such file or directory\n");
  folder_.write("file", "");
  const CommandResult file = run("file");
  EXPECT_EQ(file.exit_code, 66);
  EXPECT_EQ(file.err, "error: file: it is not a folder\n");
}

}  // namespace
}  // namespace millrace::cli
