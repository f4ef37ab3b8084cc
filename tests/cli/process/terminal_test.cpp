#include "millrace/cli/process/terminal.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <functional>

#include "millrace/core/descriptor.h"

namespace millrace::cli {
namespace {

TEST(TerminalTest, FileIsNoTerminal) {
  const Descriptor file(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  EXPECT_FALSE(is_terminal(file.get()));
  EXPECT_FALSE(wants_color(file.get()));
  EXPECT_EQ(terminal_width(file.get()), 80u);
}

TEST(TerminalTest, PaintsOnlyWhenEnabled) {
  EXPECT_EQ(paint("error:", Color::red, true), "\x1b[1;31merror:\x1b[0m");
  EXPECT_EQ(paint("note", Color::cyan, true), "\x1b[1;36mnote\x1b[0m");
  EXPECT_EQ(paint("error:", Color::red, false), "error:");
}

TEST(TerminalTest, CutsBetweenCharacters) {
  EXPECT_EQ(cut_to_width("abcdef", 3), "abc");
  EXPECT_EQ(cut_to_width("abc", 10), "abc");
  EXPECT_EQ(cut_to_width("h\xc3\xa9llo", 2), "h\xc3\xa9");
  EXPECT_EQ(cut_to_width("\xff\xff", 1), "\xff");
  EXPECT_EQ(cut_to_width("abc", 0), "");
}

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
