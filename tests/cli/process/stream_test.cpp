#include "millrace/cli/process/stream.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <thread>

#include "millrace/cli/process/signals.h"
#include "tests/support/temp_folder.h"

namespace millrace::cli {
namespace {

// What is written to `to` is read from `from`.
struct Pipe {
  explicit Pipe(int flags = 0) {
    int ends[2] = {-1, -1};
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC | flags), 0);
    from = Descriptor(ends[0]);
    to = Descriptor(ends[1]);
  }
  std::string read_all() const {
    std::string text;
    char buffer[4096];
    for (ssize_t got = 0; (got = ::read(from.get(), buffer, sizeof buffer)) != 0;) {
      if (got > 0) text.append(buffer, static_cast<size_t>(got));
    }
    return text;
  }
  Descriptor from, to;
};

std::string long_text() {
  std::string text;
  for (int i = 0; i < 100'000; ++i) text += std::to_string(i) + "\n";
  return text;
}

// Somebody else may have made the shared descriptor one that does not block.
TEST(StreamTest, WaitsForItsReader) {
  const std::string text = long_text();
  for (const int flags : {0, O_NONBLOCK}) {
    Pipe pipe;
    ::fcntl(pipe.to.get(), F_SETFL, flags);
    std::string got;
    std::thread reader([&] { got = pipe.read_all(); });
    EXPECT_EQ(Stream::standard(pipe.to.get()).write(text), 0);
    EXPECT_EQ(::fcntl(pipe.to.get(), F_GETFL) & O_NONBLOCK, flags) << "the descriptor is other programs', too";
    pipe.to = Descriptor();
    reader.join();
    EXPECT_EQ(got, text);
  }
}

TEST(StreamTest, WaitsForTheReaderOfASocket) {
  int ends[2] = {-1, -1};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  Descriptor ours(ends[0]), theirs(ends[1]);
  const std::string text = long_text();
  std::string got;
  std::thread reader([&] {
    char buffer[4096];
    for (ssize_t size = 0; (size = ::read(theirs.get(), buffer, sizeof buffer)) > 0;) {
      got.append(buffer, static_cast<size_t>(size));
    }
  });
  EXPECT_EQ(Stream::standard(ours.get()).write(text), 0);
  ours = Descriptor();
  reader.join();
  EXPECT_EQ(got, text);
}

TEST(StreamTest, SaysWhyItCannotWrite) {
  std::signal(SIGPIPE, SIG_IGN);
  Pipe pipe;
  pipe.from = Descriptor();
  EXPECT_EQ(Stream::standard(pipe.to.get()).write("a"), EPIPE);
  const Descriptor full(::open("/dev/full", O_WRONLY | O_CLOEXEC)), null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  EXPECT_EQ(Stream::standard(full.get()).write("a"), ENOSPC);
  EXPECT_EQ(Stream::standard(null.get()).write("a"), EBADF);
  EXPECT_EQ(Stream::standard(-1).write("a"), EBADF);
  // The end to read from, which could be opened to write.
  Pipe other;
  EXPECT_EQ(Stream::standard(other.from.get()).write("a"), EBADF);
}

TEST(StreamTest, WritesARedirectedFileWhereItStands) {
  const TempFolder folder;
  const std::string path = folder.write("a", "before\n");
  const Descriptor file(::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
  EXPECT_EQ(Stream::standard(file.get()).write("behind\n"), 0);
  EXPECT_EQ(TempFolder::read(path), "before\nbehind\n");
}

TEST(StreamTest, OpensAPipeWhenSomebodyReadsIt) {
  const TempFolder folder;
  const std::string path = folder.path("pipe");
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  std::string got;
  std::thread reader([&] { got = TempFolder::read(path); });
  {
    Stream stream = Stream::open(path);
    EXPECT_EQ(stream.write("words"), 0);
    EXPECT_EQ(stream.close(), 0);
  }
  reader.join();
  EXPECT_EQ(got, "words");
  EXPECT_EQ(error_of<IoError>([&] { Stream::open(folder.path("none")); }),
            folder.path("none") + ": cannot write: No such file or directory");
}

// What a signal does is seen in a process of its own.
class StreamDeathTest : public ::testing::Test {
 protected:
  StreamDeathTest() { ::testing::FLAGS_gtest_death_test_style = "threadsafe"; }

  // Ends the process with 7 if `body` ends after SIGTERM, and with 143 if only a second one ends it.
  template <class Body>
  static void interrupt(const Body& body) {
    SignalWatcher signals;
    const auto guard = signals.while_running([] {});
    std::thread([] {
      ::kill(::getpid(), SIGTERM);
      pollfd stop = {SignalWatcher::stop_request(), POLLIN, 0};
      ::poll(&stop, 1, -1);
      std::this_thread::sleep_for(std::chrono::seconds(30));  // whatever other signals come
      ::kill(::getpid(), SIGTERM);
    }).detach();
    ::_exit(body() ? 7 : 8);
  }
};

TEST_F(StreamDeathTest, ASignalEndsTheWaitForAReader) {
  for (const int flags : {0, O_NONBLOCK}) {
    EXPECT_EXIT(interrupt([flags] {
                  const Pipe pipe;
                  ::fcntl(pipe.to.get(), F_SETFL, flags);
                  Stream stream = Stream::standard(pipe.to.get());
                  // The next one, and another one, do not wait again.
                  return stream.write(long_text()) == ECANCELED && stream.write("a") == ECANCELED &&
                         Stream::standard(pipe.to.get()).write("a") == ECANCELED;
                }),
                ::testing::ExitedWithCode(7), "");
  }
}

TEST_F(StreamDeathTest, ASignalEndsTheWaitForAReaderOfASocket) {
  EXPECT_EXIT(interrupt([] {
                int ends[2] = {-1, -1};
                ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends);
                return Stream::standard(ends[0]).write(std::string(10'000'000, 'x')) == ECANCELED;
              }),
              ::testing::ExitedWithCode(7), "");
}

// As if another user had made the pipe: /proc does not let us open it.
TEST_F(StreamDeathTest, ASignalEndsTheWaitWhereThePipeCannotBeOpenedAgain) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  EXPECT_EXIT(interrupt([] {
                const Pipe pipe;
                if (::setuid(65534) != 0) return false;
                return Stream::standard(pipe.to.get()).write(long_text()) == ECANCELED;
              }),
              ::testing::ExitedWithCode(7), "");
}

TEST_F(StreamDeathTest, ASignalEndsTheWaitForSomebodyWhoOpensThePipe) {
  EXPECT_EXIT(interrupt([] {
                const TempFolder folder;
                ::mkfifo(folder.path("pipe").c_str(), 0600);
                try {
                  Stream::open(folder.path("pipe"));
                  return false;
                } catch (const OutputStopped&) {
                  return true;
                }
              }),
              ::testing::ExitedWithCode(7), "");
}

// A reader who goes on reading gets everything.
TEST_F(StreamDeathTest, ASignalCutsNothingOffForAReaderWhoReads) {
  EXPECT_EXIT(interrupt([] {
                const Pipe pipe;
                pollfd stop = {SignalWatcher::stop_request(), POLLIN, 0};
                ::poll(&stop, 1, -1);
                const std::string text = long_text();
                size_t got = 0;
                std::thread reader([&] {
                  char buffer[1000];
                  while (got < text.size()) got += static_cast<size_t>(::read(pipe.from.get(), buffer, sizeof buffer));
                });
                const int code = Stream::standard(pipe.to.get()).write(text);
                reader.join();
                return code == 0 && got == text.size();
              }),
              ::testing::ExitedWithCode(7), "");
}

}  // namespace
}  // namespace millrace::cli
