#include <gtest/gtest.h>

#include "millrace/cli/arguments/arguments.h"
#include "millrace/cli/help/man_page.h"
#include "tests/support/trainer_program.h"

namespace millrace::cli {
namespace {

TEST(ManCommandTest, PrintsThePage) {
  const auto result = ::millrace::testing::run_trainer({"man"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.out, man_page(describe_commands()));
}

}  // namespace
}  // namespace millrace::cli
