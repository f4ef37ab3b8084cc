// `trainer --version`, from outside.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/trainer_program.h"

namespace millrace::cli {
namespace {

TEST(VersionCommandTest, NamesEverythingABugReportNeeds) {
  const auto result = millrace::testing::run_trainer({"--version"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, ::testing::MatchesRegex("trainer \\(millrace\\) [0-9]+\\.[0-9]+\\.[0-9]+\n"
                                                  "build: [A-Za-z]+, [a-z+]+ [0-9.]+\n"
                                                  "cuda: [^\n]+\n"
                                                  "processor: [^\n]+\n"
                                                  "libraries: oneDNN [0-9.]+, oneTBB [0-9.]+\n"));
}

}  // namespace
}  // namespace millrace::cli
