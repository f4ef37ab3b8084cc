#include "millrace/cli/process/usage_error.h"

#include <gtest/gtest.h>

namespace millrace::cli {
namespace {

TEST(UsageErrorTest, IsAnErrorThatKeepsItsType) {
  try {
    const UsageError error("no configuration is given", {}, "trainer --config FILE");
    static_cast<const Error&>(error).raise();
  } catch (const UsageError& error) {
    EXPECT_STREQ(error.what(), "no configuration is given; trainer --config FILE");
    return;
  }
  FAIL();
}

}  // namespace
}  // namespace millrace::cli
