// `trainer generate`, from outside.
#include <gtest/gtest.h>

#include "tests/support/temp_folder.h"
#include "tests/support/trainer_program.h"

namespace millrace::cli {
namespace {

using ::millrace::testing::CommandResult;
using ::millrace::testing::run_trainer;

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

}  // namespace
}  // namespace millrace::cli
