#include <gtest/gtest.h>

#include "millrace/cli/commands/commands.h"
#include "millrace/cli/help/help.h"
#include "tests/support/trainer_program.h"

namespace millrace::cli {
namespace {

using ::millrace::testing::run_trainer;

TEST(CompletionCommandTest, PrintsTheScript) {
  const auto result = run_trainer({"completion", "fish"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.out, completion_script("fish"));
}

TEST(CompletionCommandTest, PrintsTheManualPage) {
  const auto result = run_trainer({"man"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.out, man_page(program()));
}

}  // namespace
}  // namespace millrace::cli
