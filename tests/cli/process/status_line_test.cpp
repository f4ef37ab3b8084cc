#include "millrace/cli/process/status_line.h"

#include <gtest/gtest.h>

#include <functional>

namespace millrace::cli {
namespace {

// What goes to standard error, which is no terminal then.
std::string captured(const std::function<void()>& body) {
  ::testing::internal::CaptureStderr();
  body();
  return ::testing::internal::GetCapturedStderr();
}

TEST(StatusLine, IsALineForWhatIsNewWithoutATerminal) {
  EXPECT_EQ(captured([] {
              StatusLine status(false);
              status.show("round 1", "feed");
              status.show("round 1", "native");
              status.show("round 2\n", "feed");
            }),
            "round 1\nround 2\\n\n");
}

TEST(StatusLine, IsSilentWhereThatIsWanted) {
  EXPECT_EQ(captured([] { StatusLine(true).show("round 1"); }), "");
}

}  // namespace
}  // namespace millrace::cli
