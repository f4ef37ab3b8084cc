#include "millrace/cli/process/stream.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdio>

#include "millrace/cli/process/signals.h"
#include "millrace/core/text.h"

namespace millrace::cli {

namespace {

// How long to wait after a signal for a reader that takes nothing.
constexpr int kPatienceMilliseconds = 2000;
// No event tells that a reader has opened the pipe, so opening is tried again after this time.
constexpr int kTryMilliseconds = 20;

// A reader took nothing for too long.
std::atomic<bool> given_up{false};

constexpr int kToWrite = O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY;

pollfd request_to_stop() { return {SignalWatcher::stop_request(), POLLIN, 0}; }

bool is_pipe_or_terminal(int number, mode_t mode) { return S_ISFIFO(mode) || (S_ISCHR(mode) && ::isatty(number) == 1); }

bool is_pipe(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISFIFO(status.st_mode);
}

}  // namespace

MILLRACE_DEFINE_ERROR(OutputStopped, IoError, io);

// Other programs share a standard stream's pipe or terminal, so its flags must not change. So this program opens the
// pipe or terminal once more, and writes there do not block.
Stream Stream::standard(int number) {
  struct stat status {};
  const int flags = ::fcntl(number, F_GETFL);
  if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY || ::fstat(number, &status) != 0) return {{}, number, Way::plain};
  if (S_ISSOCK(status.st_mode)) return {{}, number, Way::socket};
  if (!is_pipe_or_terminal(number, status.st_mode)) return {{}, number, Way::plain};
  char path[32] = {};  // needs no memory, which may have run out
  (void)std::snprintf(path, sizeof path, "/proc/self/fd/%d", number);
  Descriptor again(::open(path, kToWrite));
  if (!again) return {{}, number, Way::shared};
  const int opened = again.get();
  return {std::move(again), opened, Way::opened};
}

Stream Stream::open(const std::string& path) {
  for (;;) {
    Descriptor file(::open(path.c_str(), kToWrite));
    const int number = file.get();
    if (file) return {std::move(file), number, Way::opened};
    if (errno == EINTR) continue;
    if (errno != ENXIO || !is_pipe(path)) throw IoError(cat("cannot write: ", errno_text(errno)), {path});
    pollfd stop = request_to_stop();
    if (::poll(&stop, 1, kTryMilliseconds) > 0) throw OutputStopped("nobody reads the pipe, and a signal came", {path});
  }
}

int Stream::write(std::string_view text) {
  while (!text.empty()) {
    if (way_ == Way::shared) {
      if (const int code = wait_for_room(); code != 0) return code;
    }
    // A pipe that has room takes so much without blocking. A terminal may block; it is `shared` only if it could not be
    // opened again.
    const size_t size = way_ == Way::shared ? std::min<size_t>(text.size(), PIPE_BUF) : text.size();
    const ssize_t written = way_ == Way::socket ? ::send(number_, text.data(), size, MSG_DONTWAIT | MSG_NOSIGNAL)
                                                : ::write(number_, text.data(), size);
    if (written >= 0) {
      text.remove_prefix(static_cast<size_t>(written));
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      if (const int code = wait_for_room(); code != 0) return code;
    } else if (errno != EINTR) {
      return errno;
    }
  }
  return 0;
}

int Stream::close() { return own_ && ::close(own_.release()) != 0 && errno != EINTR ? errno : 0; }

int Stream::wait_for_room() {
  pollfd wanted[] = {{number_, POLLOUT, 0}, request_to_stop()};
  int patience = -1;
  for (;;) {
    const int found = ::poll(wanted, patience < 0 ? 2 : 1, patience);
    if (found < 0 && errno != EINTR) return errno;
    if (found < 0) continue;
    if (wanted[0].revents != 0) return 0;  // what is wrong, if something is, the write will say
    if (patience >= 0) {
      given_up = true;
      return ECANCELED;
    }
    patience = given_up ? 0 : kPatienceMilliseconds;
  }
}

}  // namespace millrace::cli
