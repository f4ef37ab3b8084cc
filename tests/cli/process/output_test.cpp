#include "millrace/cli/process/output.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "tests/support/temp_folder.h"

namespace millrace::cli {
namespace {

TEST(OutputTest, FileAppearsWhole) {
  const TempFolder folder;
  const std::string path = folder.write("out.txt", "old");
  {
    Output lost = Output::file(path);
    lost.write(std::string(100000, 'x'));
    lost.flush();
  }
  EXPECT_EQ(TempFolder::read(path), "old");
  Output out = Output::file(path);
  out.write("a\n");
  out.write(std::string(100000, 'x'));
  EXPECT_EQ(TempFolder::read(path), "old");
  out.close();
  EXPECT_EQ(TempFolder::read(path), "a\n" + std::string(100000, 'x'));
}

// A pipe that can be read without waiting.
class OutputPipeTest : public ::testing::Test {
 protected:
  OutputPipeTest() : path_(folder_.path("pipe")) {
    EXPECT_EQ(::mkfifo(path_.c_str(), 0600), 0);
    reader_ = Descriptor(::open(path_.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  }
  // What is there now.
  std::string read() const {
    char buffer[64];
    const ssize_t count = ::read(reader_.get(), buffer, sizeof buffer);
    return {buffer, static_cast<size_t>(std::max<ssize_t>(count, 0))};
  }

  TempFolder folder_;
  std::string path_;
  Descriptor reader_;
};

TEST_F(OutputPipeTest, GetsWhatIsFlushed) {
  Output out = Output::file(path_);
  out.write("a");
  EXPECT_EQ(read(), "");
  out.flush();
  EXPECT_EQ(read(), "a");
  out.write("b");
  out.flush_quietly();
  EXPECT_EQ(read(), "b");
  EXPECT_TRUE(std::filesystem::is_fifo(path_));
}

TEST_F(OutputPipeTest, IsClosedByItsReader) {
  Output out = Output::file(path_);
  reader_ = Descriptor();
  std::signal(SIGPIPE, SIG_IGN);
  out.write("a");
  EXPECT_THROW(out.close(), OutputClosed);
}

TEST(OutputTest, FileThatCannotBeMadeIsAnErrorWithItsPath) {
  const TempFolder folder;
  EXPECT_EQ(error_of<IoError>([&] { Output::file(folder.path()); }), folder.path() + ": cannot write: it is a folder");
  EXPECT_EQ(error_of<IoError>([&] { Output::file(folder.path("none/x")); }),
            folder.path("none/x") + ": cannot write: No such file or directory; make the folder \"" +
                folder.path("none") + "\" first");
}

TEST(OutputTest, FullDeviceIsAnError) {
  Output out = Output::file("/dev/full");
  out.write("a");
  EXPECT_EQ(error_of<IoError>([&] { out.flush(); }), "/dev/full: writing failed: No space left on device");
}

TEST(OutputTest, QuietFlushNeverThrows) {
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
