#include "millrace/input/files/file_system.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <ctime>

#include "millrace/core/clock.h"
#include "millrace/core/descriptor.h"
#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "millrace/input/files/glob.h"
#include "millrace/input/files/open_files.h"
#include "millrace/input/files/read_ahead.h"

namespace millrace {

namespace {

// Linux reads at most this many bytes in one call.
constexpr size_t kMaxRead = size_t{1} << 30;

// The read-ahead of Linux, unless it was set otherwise.
constexpr uint64_t kAdvice = 131072;

[[noreturn]] void fail(const std::string& path, std::string_view what, int code) {
  throw IoError(cat(what, ": ", errno_text(code)), {path});
}

Descriptor open_descriptor(const std::string& path, int flags) {
  int descriptor = -1;
  do {
    descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | flags);
  } while (descriptor < 0 && errno == EINTR);
  if (descriptor < 0) fail(path, "cannot open the file", errno);
  return Descriptor(descriptor);
}

uint64_t nanoseconds_of_thread() {
  timespec now = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

// A read of this process that is under way. together(): how many were under way when it began. They share the bandwidth
// of the storage.
class Reading {
 public:
  Reading() : together_(++under_way) {}
  ~Reading() { --under_way; }
  Reading(const Reading&) = delete;
  Reading& operator=(const Reading&) = delete;
  uint64_t together() const { return together_; }

 private:
  static inline std::atomic<uint64_t> under_way{0};
  const uint64_t together_;
};

class LocalFile : public File {
 public:
  explicit LocalFile(const std::string& path) : path_(path), descriptor_(open_descriptor(path, 0)) {
    struct stat status = {};
    if (fstat(descriptor_.get(), &status) != 0) fail(path, "cannot open the file", errno);
    if (S_ISDIR(status.st_mode)) fail(path, "cannot open the file", EISDIR);
    size_at_open_ = static_cast<uint64_t>(status.st_size);
  }

  uint64_t size() const override {
    struct stat status = {};
    if (fstat(descriptor_.get(), &status) != 0) fail(path_, "cannot look at the file", errno);
    return static_cast<uint64_t>(status.st_size);
  }
  uint64_t size_at_open() const override { return size_at_open_; }
  // The system gives the lowest free number, so the upper half of the numbers stays free for all other files.
  bool may_stay_open() const override { return static_cast<uint64_t>(descriptor_.get()) < most_descriptors() / 2; }

  size_t read(uint64_t offset, void* to, size_t bytes) const override {
    if (bytes < ReadAhead::kLeastRead || size_at_open_ < ReadAhead::kTrial) return read_all(offset, to, bytes);
    const Reading reading;
    const Clock::time_point start = Clock::now();
    const uint64_t worked_before = nanoseconds_of_thread();
    const size_t done = read_all(offset, to, bytes);
    const uint64_t worked = nanoseconds_of_thread() - worked_before, all = nanoseconds_since(start);
    ask_for(ahead_.after(offset, done, (all - std::min(worked, all)) / reading.together()));
    return done;
  }

 private:
  size_t read_all(uint64_t offset, void* to, size_t bytes) const {
    size_t done = 0;
    while (done < bytes) {
      const size_t wanted = std::min(bytes - done, kMaxRead);
      const ssize_t got =
          pread(descriptor_.get(), static_cast<char*>(to) + done, wanted, static_cast<off_t>(offset + done));
      if (got == 0) break;
      if (got > 0) {
        done += static_cast<size_t>(got);
      } else if (errno != EINTR) {
        fail(path_, "cannot read the file", errno);
      }
    }
    return done;
  }

  // This is only advice, so failures are ignored. The system cuts each piece of advice to the size of its own
  // read-ahead.
  void ask_for(const ReadAhead::Range& range) const {
    for (uint64_t at = range.begin; at < range.end; at += kAdvice) {
      posix_fadvise(descriptor_.get(), static_cast<off_t>(at), static_cast<off_t>(std::min(kAdvice, range.end - at)),
                    POSIX_FADV_WILLNEED);
    }
  }

  std::string path_;
  Descriptor descriptor_;
  uint64_t size_at_open_ = 0;
  mutable ReadAhead ahead_;
};

class LocalStream : public ByteStream {
 public:
  // O_NONBLOCK: opening a pipe that has no writer yet must not wait, because nothing could interrupt it.
  explicit LocalStream(const std::string& path)
      : path_(path),
        own_(path == "-" ? Descriptor() : open_descriptor(path, O_NONBLOCK)),
        interrupt_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (!interrupt_) fail(path, "cannot open the file", errno);
  }

  size_t read(void* to, size_t bytes) override {
    const int from = own_ ? own_.get() : STDIN_FILENO;
    for (;;) {
      pollfd wanted[2] = {{from, POLLIN, 0}, {interrupt_.get(), POLLIN, 0}};
      if (poll(wanted, 2, -1) < 0) {
        if (errno == EINTR) continue;
        fail(path_, "cannot read the file", errno);
      }
      if (wanted[1].revents != 0) return 0;
      const ssize_t got = ::read(from, to, std::min(bytes, kMaxRead));
      if (got >= 0) return static_cast<size_t>(got);
      if (errno != EINTR && errno != EAGAIN) fail(path_, "cannot read the file", errno);
    }
  }

  void interrupt() noexcept override {
    const uint64_t one = 1;
    // This can only fail after many earlier calls, and one call is enough.
    [[maybe_unused]] const ssize_t written = write(interrupt_.get(), &one, sizeof one);
  }

 private:
  const std::string path_;
  const Descriptor own_;  // none: standard input
  const Descriptor interrupt_;
};

class LocalFileSystem : public FileSystem {
 public:
  std::unique_ptr<File> open(const std::string& path) override { return std::make_unique<LocalFile>(path); }

  std::unique_ptr<ByteStream> open_stream(const std::string& path) override {
    return std::make_unique<LocalStream>(path);
  }

  Type type(const std::string& path) override {
    struct stat status;
    return type(path, status);
  }

  // faccessat() costs a third of opening the file. If it denies access, the file is opened, and that error says why.
  Look look(const std::string& path) override {
    struct stat status = {};
    const Type what = type(path, status);
    if (what == Type::none && errno == EACCES) fail(path, "cannot open the file", errno);
    if (what != Type::file) return {what};
    if (faccessat(AT_FDCWD, path.c_str(), R_OK, AT_EACCESS) != 0) return {what, open(path)->size()};
    return {what, static_cast<uint64_t>(status.st_size)};
  }

  bool same(const std::string& a, const std::string& b) override {
    struct stat first, second;
    if (look_at(a, first) != 0 || look_at(b, second) != 0) return a == b;
    return first.st_dev == second.st_dev && first.st_ino == second.st_ino;
  }

  std::vector<std::string> match(const std::string& pattern) override { return glob_paths(pattern); }
  std::vector<std::string> list(const std::string& folder) override { return list_folder(folder); }

 private:
  static Type type(const std::string& path, struct stat& status) {
    if (path == "-") return Type::stream;
    if (stat(path.c_str(), &status) != 0) return Type::none;
    if (S_ISREG(status.st_mode)) return Type::file;
    if (S_ISFIFO(status.st_mode) || S_ISCHR(status.st_mode)) return Type::stream;
    return S_ISDIR(status.st_mode) ? Type::folder : Type::other;
  }

  static int look_at(const std::string& path, struct stat& status) {
    return path == "-" ? fstat(STDIN_FILENO, &status) : stat(path.c_str(), &status);
  }
};

}  // namespace

FileSystem& FileSystem::local() {
  static LocalFileSystem files;
  return files;
}

}  // namespace millrace
