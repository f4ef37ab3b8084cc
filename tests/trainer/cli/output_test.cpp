#include "millrace/trainer/cli/output.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>

#include "tests/support/temp_folder.h"

namespace millrace::cli {
namespace {

TEST(OutputTest, FileHoldsWhatWasWritten) {
  const TempFolder folder;
  const std::string path = folder.write("out.txt", "old");
  Output out = Output::file(path);
  out.write("a\n");
  out.write(std::string(100000, 'x'));
  out.close();
  EXPECT_EQ(TempFolder::read(path), "a\n" + std::string(100000, 'x'));
}

TEST(OutputTest, NothingIsWrittenBeforeFlush) {
  const TempFolder folder;
  const std::string path = folder.path("out.txt");
  Output out = Output::file(path);
  out.write("a");
  EXPECT_EQ(TempFolder::read(path), "");
  out.flush();
  EXPECT_EQ(TempFolder::read(path), "a");
}

TEST(OutputTest, FileThatCannotBeMadeIsAnErrorWithItsPath) {
  const TempFolder folder;
  EXPECT_EQ(error_of<IoError>([&] { Output::file(folder.path()); }), folder.path() + ": cannot write: Is a directory");
  EXPECT_EQ(error_of<IoError>([&] { Output::file(folder.path("none/x")); }),
            folder.path("none/x") + ": cannot write: No such file or directory; make the folder \"" +
                folder.path("none") + "\" first");
}

TEST(OutputTest, FullDeviceIsAnError) {
  Output out = Output::file("/dev/full");
  out.write("a");
  EXPECT_EQ(error_of<IoError>([&] { out.flush(); }), "/dev/full: writing failed: No space left on device");
}

TEST(OutputTest, QuietFlushWritesAndNeverThrows) {
  const TempFolder folder;
  Output out = Output::file(folder.path("out.txt"));
  out.write("a");
  out.flush_quietly();
  EXPECT_EQ(TempFolder::read(folder.path("out.txt")), "a");
  Output full = Output::file("/dev/full");
  full.write("a");
  full.flush_quietly();
  EXPECT_NO_THROW(full.flush());
}

TEST(OutputTest, FailedWriteIsNotTriedAgain) {
  Output out = Output::file("/dev/full");
  out.write("a");
  EXPECT_THROW(out.close(), IoError);
  EXPECT_NO_THROW(out.flush());
}

}  // namespace
}  // namespace millrace::cli
