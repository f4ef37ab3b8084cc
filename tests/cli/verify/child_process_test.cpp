#include "millrace/cli/verify/child_process.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "tests/support/temp_folder.h"

namespace millrace::cli {
namespace {

using Got = ChildProcess::Got;

// Runs this test program once more, with one of the tests below, which do not run otherwise.
ChildProcess::Args body(const std::string& name, const std::string& errors) {
  return {.words = {"--gtest_also_run_disabled_tests", "--gtest_filter=ChildProcessBody.DISABLED_" + name},
          .environment = {"MILLRACE_TEST_WORD=from outside"},
          .error_file = errors};
}

class ChildProcessBody : public ::testing::Test {
 protected:
  void SetUp() override {
    if (std::getenv("MILLRACE_TEST_WORD") == nullptr) GTEST_SKIP() << "is a part of other tests";
  }
};

TEST_F(ChildProcessBody, DISABLED_Talks) {
  std::printf("\nsaid %s\nand a last line without an end", std::getenv("MILLRACE_TEST_WORD"));
  std::fprintf(stderr, "to whom it may concern\n");
  char byte = 0;
  EXPECT_EQ(::read(STDIN_FILENO, &byte, 1), 0);
  std::fflush(nullptr);
  ::_exit(::testing::Test::HasFailure() ? 1 : 7);
}

TEST_F(ChildProcessBody, DISABLED_Waits) {
  std::printf("\nwaits\n");
  std::fflush(nullptr);
  for (;;) ::pause();
}

TEST(ChildProcess, IsReadToItsEnd) {
  const TempFolder folder;
  folder.write("errors", "before\n");
  ChildProcess child(body("Talks", folder.path("errors")));
  std::string line;
  bool said = false;
  Got got;
  while ((got = child.next_line(line, Clock::time_point::max())) == Got::line)
    said = said || line == "said from outside";
  EXPECT_TRUE(said);
  EXPECT_EQ(got, Got::end);
  const ChildProcess::End end = child.wait();
  EXPECT_EQ(end.code, 7);
  EXPECT_EQ(end.signal, 0);
  EXPECT_EQ(TempFolder::read(folder.path("errors")), "before\nto whom it may concern\n");
}

TEST(ChildProcess, IsWaitedForAsLongAsOneLikes) {
  const TempFolder folder;
  ChildProcess child(body("Waits", folder.path("errors")));
  std::string line;
  EXPECT_EQ(child.next_line(line, Clock::now()), Got::nothing);
  while (line != "waits") ASSERT_EQ(child.next_line(line, Clock::time_point::max()), Got::line);
  EXPECT_EQ(child.next_line(line, Clock::now() + std::chrono::milliseconds(5)), Got::nothing);
  child.kill();
  EXPECT_EQ(child.wait().signal, SIGKILL);
  EXPECT_EQ(child.next_line(line, Clock::time_point::max()), Got::end);
}

// If the child outlived its owner, the end of the tests would wait for it.
TEST(ChildProcess, DoesNotOutliveItsOwner) {
  const TempFolder folder;
  ChildProcess child(body("Waits", folder.path("errors")));
}

}  // namespace
}  // namespace millrace::cli
