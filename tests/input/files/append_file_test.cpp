#include "millrace/input/files/append_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <sstream>
#include <thread>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "tests/support/temp_folder.h"

namespace millrace {
namespace {

std::string refusal(const std::string& path) {
  const std::string message = error_of<IoError>([&] { AppendFile::check(path); });
  EXPECT_EQ(error_of<IoError>([&] { const AppendFile file(path, false); }), message);
  return message;
}

TEST(AppendFile, BeginsAnewOrGoesOn) {
  const TempFolder folder;
  const std::string path = folder.write("a", "old\n");
  AppendFile::check(path);
  EXPECT_EQ(TempFolder::read(path), "old\n") << "the check changes nothing";
  {
    AppendFile file(path, false);
    file.append("first\n");
    EXPECT_EQ(TempFolder::read(path), "first\n") << "it is there at once";
  }
  AppendFile(path, true).append("second\n");
  EXPECT_EQ(TempFolder::read(path), "first\nsecond\n");
}

TEST(AppendFile, IsMade) {
  const TempFolder folder;
  AppendFile::check(folder.path("a"));
  EXPECT_FALSE(std::filesystem::exists(folder.path("a")));
  AppendFile(folder.path("a"), true).append("x\n");
  EXPECT_EQ(TempFolder::read(folder.path("a")), "x\n");
  std::filesystem::create_symlink("b", folder.path("link"));
  AppendFile(folder.path("link"), false).append("y\n");
  EXPECT_EQ(TempFolder::read(folder.path("b")), "y\n");
}

TEST(AppendFile, LinesOfTwoAreWhole) {
  const TempFolder folder;
  const std::string path = folder.write("a", "");
  constexpr int kLines = 2000;
  const auto line_of = [](char writer, int number) {
    return std::string(static_cast<size_t>(1 + number * 7 % 300), writer) + "\n";
  };
  const auto write_all = [&](char writer) {
    AppendFile file(path, true);
    for (int i = 0; i < kLines; ++i) file.append(line_of(writer, i));
  };
  std::thread other([&] { write_all('b'); });
  write_all('a');
  other.join();
  int of_a = 0, of_b = 0;
  std::istringstream lines(TempFolder::read(path));
  for (std::string line; std::getline(lines, line);) {
    int& count = line[0] == 'a' ? of_a : of_b;
    ASSERT_EQ(line + "\n", line_of(line[0], count++));
  }
  EXPECT_EQ(of_a, kLines);
  EXPECT_EQ(of_b, kLines);
}

TEST(AppendFile, RefusesWhatIsNoRegularFile) {
  const TempFolder folder;
  ASSERT_EQ(::mkfifo(folder.path("pipe").c_str(), 0600), 0);
  EXPECT_EQ(refusal(folder.path("pipe")), folder.path("pipe") + ": cannot write: it exists and is not a regular file");
  EXPECT_EQ(refusal("/dev/full"), "/dev/full: cannot write: it exists and is not a regular file");
  std::filesystem::create_directory(folder.path("d"));
  EXPECT_EQ(refusal(folder.path("d")), folder.path("d") + ": cannot write: it is a folder");
}

TEST(AppendFile, RefusesWhatCannotBeMade) {
  const TempFolder folder;
  EXPECT_EQ(refusal(folder.path("no/a")),
            cat(folder.path("no/a"), ": cannot write: No such file or directory; make the ", "folder ",
                quote(folder.path("no"), 300), " first"));
  EXPECT_EQ(refusal(""), "cannot write: No such file or directory");
  std::filesystem::create_symlink("b", folder.path("a"));
  std::filesystem::create_symlink("a", folder.path("b"));
  EXPECT_EQ(refusal(folder.path("a")), folder.path("a") + ": cannot write: Too many levels of symbolic links");
  std::filesystem::create_symlink("no/c", folder.path("link"));
  EXPECT_EQ(refusal(folder.path("link")),
            cat(folder.path("link"), ": cannot write: No such file or directory; make the ", "folder ",
                quote(folder.path("no"), 300), " first"));
}

// For root, the rights of these folders say that files can be made there.
TEST(AppendFile, RefusesWhatASystemFolderCannotHave) {
  for (const std::string path : {"/proc/x", "/proc/self/fd/777"}) {
    EXPECT_TRUE(refusal(path).starts_with(path + ": cannot write: ")) << refusal(path);
  }
}

TEST(AppendFile, RefusesWhatMayNotBeWritten) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may write everything";
  const TempFolder folder;
  const std::string path = folder.write("a", "");
  ASSERT_EQ(::chmod(path.c_str(), 0400), 0);
  EXPECT_EQ(refusal(path), path + ": cannot write: Permission denied");
  std::filesystem::create_directory(folder.path("d"));
  ASSERT_EQ(::chmod(folder.path("d").c_str(), 0500), 0);
  EXPECT_EQ(refusal(folder.path("d/a")), folder.path("d/a") + ": cannot write: Permission denied");
}

// A limit on the size of files stands for a full disk.
TEST(AppendFile, AFullDiskIsAnError) {
  const TempFolder folder;
  const std::string path = folder.path("a");
  AppendFile file(path, false);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit limit{10, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  const std::string message = error_of<IoError>([&] { file.append("more than ten bytes\n"); });
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, old_handler);
  EXPECT_EQ(message, path + ": cannot write: File too large");
}

}  // namespace
}  // namespace millrace
