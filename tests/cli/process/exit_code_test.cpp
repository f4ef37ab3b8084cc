#include "millrace/cli/process/exit_code.h"

#include <gtest/gtest.h>

#include <csignal>

namespace millrace::cli {
namespace {

TEST(ExitCodeTest, EveryKindHasItsCode) {
  EXPECT_EQ(exit_code(UsageError("m")), 2);
  EXPECT_EQ(exit_code(ConfigError("m")), 78);
  EXPECT_EQ(exit_code(ShapeError("m")), 78);
  EXPECT_EQ(exit_code(DataError("m")), 65);
  EXPECT_EQ(exit_code(MissingError("m")), 66);
  EXPECT_EQ(exit_code(IoError("m")), 74);
  EXPECT_EQ(exit_code(DeviceError("m")), 74);
  EXPECT_EQ(exit_code(InternalError("m")), 70);
}

TEST(ExitCodeTest, SignalsAreCodedAsShellsDo) {
  EXPECT_EQ(exit_code_of_signal(0), kExitDone);
  EXPECT_EQ(exit_code_of_signal(SIGHUP), kExitHungUp);
  EXPECT_EQ(exit_code_of_signal(SIGINT), kExitInterrupted);
  EXPECT_EQ(exit_code_of_signal(SIGTERM), kExitTerminated);
}

TEST(ExitCodeTest, AllAreTold) {
  EXPECT_EQ(exit_codes_text(),
            "0 done, 2 usage, 65 bad data, 66 input missing, 70 internal, 74 I/O or device, 78 configuration, 129 "
            "hung up, 130 interrupted, 143 terminated");
}

TEST(ExitCodeTest, UsageErrorsKeepTheirType) {
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
