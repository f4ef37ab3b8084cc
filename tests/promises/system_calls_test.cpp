// What the kernel may do to a read of a file or pipe: interrupt it, give less than was asked for, fail. This program
// stands between the library and the calls.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <string>
#include <thread>

#include "tests/input/graph/rich_graph.h"
#include "tests/support/temp_folder.h"

namespace {

struct Kernel {
  std::atomic<int> interrupt_every = 0;  // 0: never
  std::atomic<size_t> most_bytes = SIZE_MAX;
  std::atomic<int> error = 0;         // of every read
  std::atomic<bool> not_yet = false;  // every other read of a pipe has nothing
  std::atomic<int> calls = 0, interrupted = 0;

  // Whether this call fails, with errno.
  bool interrupts() {
    const int every = interrupt_every;
    if (every == 0 || calls++ % every != 0) return false;
    ++interrupted;
    errno = EINTR;
    return true;
  }
  bool fails() {
    errno = error;
    return errno != 0;
  }
};
Kernel kernel;

}  // namespace

// The library must see the replacements, which the build would hide.
#pragma GCC visibility push(default)
extern "C" {
ssize_t pread(int file, void* to, size_t bytes, off_t offset) {
  if (kernel.interrupts() || kernel.fails()) return -1;
  return syscall(SYS_pread64, file, to, std::min<size_t>(bytes, kernel.most_bytes), offset);
}
ssize_t read(int file, void* to, size_t bytes) {
  if (kernel.interrupts() || kernel.fails()) return -1;
  static std::atomic<int> reads = 0;
  if (kernel.not_yet && reads++ % 2 == 0) {
    errno = EAGAIN;
    return -1;
  }
  return syscall(SYS_read, file, to, std::min<size_t>(bytes, kernel.most_bytes));
}
int poll(pollfd* files, nfds_t count, int timeout) {
  if (kernel.interrupts()) return -1;
  const timespec wait = {timeout / 1000, timeout % 1000 * 1000000L};
  return ppoll(files, count, timeout < 0 ? nullptr : &wait, nullptr);
}
int open(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  if (kernel.interrupts()) return -1;
  return static_cast<int>(syscall(SYS_openat, AT_FDCWD, path, flags, mode));
}
}
#pragma GCC visibility pop

namespace millrace::testing {
namespace {

using testing_support::all_batches;
using testing_support::Batches;
using testing_support::error_of;
using testing_support::MemoryFiles;

class SystemCalls : public ::testing::Test {
 protected:
  SystemCalls() {
    for (int i = 0; i < 20000; ++i) text_ += static_cast<char>('a' + i % 26 * i % 7);
  }
  ~SystemCalls() override { be_kind(); }
  static void be_kind() {
    kernel.interrupt_every = 0;
    kernel.most_bytes = SIZE_MAX;
    kernel.error = 0;
    kernel.not_yet = false;
    kernel.interrupted = 0;
  }

  FileSystem& files_ = FileSystem::local();
  TempFolder folder_;
  std::string text_;
};

TEST_F(SystemCalls, AFileIsReadWhole) {
  const std::string path = folder_.write("a", text_);
  for (const int every : {0, 1 << 20, 2, 3}) {
    for (const size_t most : {size_t{1}, size_t{7}, size_t{4096}, SIZE_MAX}) {
      be_kind();
      kernel.calls = 0;
      kernel.interrupt_every = every;
      kernel.most_bytes = most;
      const auto file = files_.open(path);
      for (const size_t offset : {size_t{0}, size_t{1}, size_t{9999}, text_.size() - 3, text_.size()}) {
        std::string got(text_.size(), ' ');
        got.resize(file->read(offset, got.data(), got.size()));
        EXPECT_EQ(got, text_.substr(offset)) << every << ' ' << most;
      }
      EXPECT_EQ(kernel.interrupted > 0, every > 0);
    }
  }
}

TEST_F(SystemCalls, AFailingReadNamesTheFileAndTheReason) {
  const std::string path = folder_.write("a", text_);
  const auto file = files_.open(path);
  char byte = 0;
  kernel.error = EIO;
  EXPECT_EQ(error_of([&] { static_cast<void>(file->read(0, &byte, 1)); }),
            path + ": cannot read the file: Input/output error");
  kernel.error = ESTALE;
  EXPECT_EQ(error_of([&] { static_cast<void>(file->read(0, &byte, 1)); }),
            path + ": cannot read the file: Stale file handle");
  kernel.error = 0;
  EXPECT_EQ(file->read(0, &byte, 1), 1u);
}

class SystemCallsOfAPipe : public SystemCalls {
 protected:
  // All that comes out of a pipe into which text_ is written.
  std::string read_pipe() {
    const std::string path = folder_.path("pipe");
    unlink(path.c_str());
    EXPECT_EQ(mkfifo(path.c_str(), 0600), 0);
    const auto stream = files_.open_stream(path);
    std::thread writer([&] {
      FILE* out = std::fopen(path.c_str(), "w");
      std::fwrite(text_.data(), 1, text_.size(), out);
      std::fclose(out);
    });
    std::string got;
    std::string error;
    try {
      char buffer[1000];
      while (const size_t bytes = stream->read(buffer, sizeof buffer)) got.append(buffer, bytes);
    } catch (const IoError& failure) {
      error = failure.what();
      kernel.error = 0;
      char buffer[1000];
      while (stream->read(buffer, sizeof buffer) > 0) {
      }
    }
    writer.join();
    return error.empty() ? got : error;
  }
};

TEST_F(SystemCallsOfAPipe, ItIsReadWhole) {
  // Not every second one: calls of poll and read take turns.
  for (const int every : {0, 3, 4, 7}) {
    for (const size_t most : {size_t{3}, SIZE_MAX}) {
      for (const bool not_yet : {false, true}) {
        be_kind();
        kernel.interrupt_every = every;
        kernel.most_bytes = most;
        kernel.not_yet = not_yet;
        EXPECT_EQ(read_pipe(), text_) << every << ' ' << most << ' ' << not_yet;
        EXPECT_EQ(kernel.interrupted > 0, every > 0);
      }
    }
  }
}

TEST_F(SystemCallsOfAPipe, AFailingReadNamesItAndTheReason) {
  kernel.error = EIO;
  EXPECT_EQ(read_pipe(), folder_.path("pipe") + ": cannot read the file: Input/output error");
}

TEST_F(SystemCalls, AGraphGivesTheSameRows) {
  MemoryFiles memory;
  testing_support::add_rich_files(memory);
  for (const auto& [path, text] : memory.files) folder_.write(path, text);
  const auto list = [&] {
    std::string yaml = testing_support::rich_reading("a", cat("files: '", folder_.path("a?.csv"), "'"), "readers: 2");
    yaml += "- take: {rows: 100}\n- batch: {batch_size: 7}\n";
    return parse_yaml(yaml, "input.yaml");
  }();
  const Batches expected = all_batches(list, files_);
  ASSERT_EQ(expected.size(), 14u);
  for (const int every : {2, 3}) {
    for (const size_t most : {size_t{1}, size_t{5}}) {
      be_kind();
      kernel.interrupt_every = every;
      kernel.most_bytes = most;
      EXPECT_EQ(all_batches(list, files_), expected);
      EXPECT_GT(kernel.interrupted, 0);
    }
  }
}

}  // namespace
}  // namespace millrace::testing
