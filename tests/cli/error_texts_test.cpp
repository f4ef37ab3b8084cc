// Every NAME.yaml in tests/errors/ beside NAME.expected: `trainer --config NAME.yaml`, run in that folder, must end
// with the exit code of the expected text's first line, and say on standard error exactly the lines below it.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "tests/support/temp_folder.h"
#include "tests/support/trainer_program.h"

namespace millrace::cli {
namespace {

const std::filesystem::path kFolder = std::filesystem::path(test::source_dir()) / "tests" / "errors";

std::vector<std::string> cases() {
  std::vector<std::string> out;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder)) {
    if (entry.path().extension() == ".expected") out.push_back(entry.path().stem().string());
  }
  std::sort(out.begin(), out.end());
  return out;
}

class ErrorTextsTest : public ::testing::TestWithParam<std::string> {};

TEST_P(ErrorTextsTest, IsAsExpected) {
  const auto result = testing::run_trainer({"--config", GetParam() + ".yaml"}, {.folder = kFolder.string()});
  EXPECT_EQ("exit " + std::to_string(result.exit_code) + "\n" + result.err,
            TempFolder::read((kFolder / (GetParam() + ".expected")).string()));
  EXPECT_EQ(result.out, "");
}

INSTANTIATE_TEST_SUITE_P(Errors, ErrorTextsTest, ::testing::ValuesIn(cases()),
                         [](const auto& tested) { return tested.param; });

}  // namespace
}  // namespace millrace::cli
