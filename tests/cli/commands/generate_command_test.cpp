// `trainer generate`, from outside.
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <thread>

#include "millrace/core/text.h"
#include "tests/support/temp_folder.h"
#include "tests/support/trainer_program.h"

namespace millrace::cli {
namespace {

using ::millrace::testing::Command;
using ::millrace::testing::CommandResult;
using ::millrace::testing::run_trainer;
using ::millrace::testing::trainer_words;

TEST(GenerateCommandTest, WritesFilesOnlyOnce) {
  const TempFolder folder;
  const std::vector<std::string> words = {"generate", "sum",    "--out", "d",          "--files",
                                          "2",        "--rows", "3",     "--features", "4"};
  const CommandResult result = run_trainer(words, {.folder = folder.path()});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(result.out.starts_with("wrote 2 files, 6 rows (")) << result.out;
  EXPECT_TRUE(result.out.ends_with(" bytes in d\n")) << result.out;
  EXPECT_NE(TempFolder::read(folder.path("d/examples-01.csv")), "");
  EXPECT_EQ(run_trainer(words, {.folder = folder.path()}).exit_code, 74);
  std::vector<std::string> forced = words;
  forced.emplace_back("--force");
  EXPECT_EQ(run_trainer(forced, {.folder = folder.path()}).exit_code, 0);
}

TEST(GenerateCommandTest, WritesImages) {
  const TempFolder folder;
  const std::vector<std::string> words = {"generate", "images", "--out", "d",      "--files",
                                          "2",        "--rows", "3",     "--size", "12"};
  const CommandResult result = run_trainer(words, {.folder = folder.path()});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(result.out.starts_with("wrote 2 files, 6 rows, ")) << result.out;
  EXPECT_TRUE(result.out.ends_with(" in d\n")) << result.out;
  const std::string text = TempFolder::read(folder.path("d/examples-01.csv"));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 3);
  EXPECT_EQ(std::count(text.begin(), text.end(), ','), 3 * 144);
  const CommandResult again = run_trainer(words, {.folder = folder.path()});
  EXPECT_EQ(again.exit_code, 74);
  EXPECT_EQ(
      again.err,
      "error: d/examples-00.csv: the file is there already\nhint: give --force to overwrite it, or another folder\n");
}

TEST(GenerateCommandTest, InterruptedItLeavesWholeFilesOnly) {
  const TempFolder folder;
  for (const auto& [number, code] : {std::pair(SIGINT, 130), std::pair(SIGTERM, 143), std::pair(SIGHUP, 129)}) {
    // More files than a test waits for: the signal comes while one is written.
    Command command(trainer_words({"generate", "sum", "--out", "d", "--files", "1000000", "--rows", "100", "--features",
                                   "100", "--force"}),
                    {.folder = folder.path()});
    while (!std::filesystem::exists(folder.path("d/examples-000000.csv"))) std::this_thread::yield();
    command.send(number);
    const CommandResult result = command.finish();
    EXPECT_EQ(result.exit_code, code);
    size_t files = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder.path("d"))) {
      EXPECT_EQ(entry.path().extension(), ".csv") << entry.path();
      ++files;
    }
    EXPECT_TRUE(result.out.starts_with(cat("stopped: wrote ", count_of(static_cast<int64_t>(files), "file"), ", ")))
        << result.out;
    std::filesystem::remove_all(folder.path("d"));
  }
}

TEST(GenerateCommandTest, ALimitOnTheSizeOfFilesIsAnError) {
  const TempFolder folder;
  const CommandResult result = millrace::testing::run_command(
      {"/bin/sh", "-c", "ulimit -f 1; exec '" + millrace::testing::trainer_program() + "' generate sum --out d"},
      {.folder = folder.path()});
  EXPECT_EQ(result.exit_code, 74);
  EXPECT_EQ(result.err, "error: d/examples-00.csv: cannot write: File too large\n");
  EXPECT_TRUE(std::filesystem::is_empty(folder.path("d")));
}

}  // namespace
}  // namespace millrace::cli
