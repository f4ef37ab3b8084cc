#include "millrace/cli/process/kill_before_call.h"

#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>

#include "millrace/cli/process/exit_code.h"
#include "millrace/input/files/atomic_file.h"
#include "tests/support/run_apart.h"
#include "tests/support/temp_folder.h"

namespace millrace::cli {
namespace {

TEST(KillBeforeCall, ReadsWhatItWrites) {
  const FaultPoint point = FaultPoint::parse("open_nameless:12");
  EXPECT_EQ(point.call, "open_nameless");
  EXPECT_EQ(point.time, 12u);
  EXPECT_EQ(point.text(), "open_nameless:12");
  for (const char* text : {"", "sync", "sync:", ":1", "sync:0", "sync:-1", "sync:1x", "sync:99999999999999999999"}) {
    EXPECT_EQ(
        error_of<UsageError>([&] { FaultPoint::parse(text); }),
        "MILLRACE_KILL_BEFORE_CALL: expected a call and a number, such as sync:3, got \"" + std::string(text) + '"');
  }
}

TEST(KillBeforeCall, FindsTheCallInWhatIsSaid) {
  EXPECT_EQ(killed_before("warning: old\nkilled before link\n"), "link");
  EXPECT_EQ(killed_before("killed before"), std::nullopt);
  EXPECT_EQ(killed_before(""), std::nullopt);
}

void write_file(const std::string& path) {
  AtomicFile file(path);
  file.write("text");
  file.commit();
}

TEST(KillBeforeCall, EndsTheProgramAtThatCallAndNoOther) {
  const TempFolder folder;
  const int status = test::run_apart([&] {
    ::setenv(kKillBeforeCall, "sync:3", 1);
    take_fault_point();
    write_file(folder.path("whole"));
    write_file(folder.path("none"));
  });
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGKILL);
  EXPECT_EQ(TempFolder::read(folder.path("whole")), "text");
  EXPECT_FALSE(std::filesystem::exists(folder.path("none")));
}

TEST(KillBeforeCallDeathTest, DoesNothingIfNobodyAsks) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  const TempFolder folder;
  EXPECT_EXIT(
      {
        ::unsetenv(kKillBeforeCall);
        take_fault_point();
        write_file(folder.path("whole"));
        ::_exit(7);
      },
      testing::ExitedWithCode(7), "");
}

}  // namespace
}  // namespace millrace::cli
