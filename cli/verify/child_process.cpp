#include "millrace/cli/verify/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <utility>

#include "millrace/cli/process/signals.h"
#include "millrace/core/errors.h"
#include "millrace/core/text.h"

namespace millrace::cli {

namespace {

constexpr const char* kThisProgram = "/proc/self/exe";

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (std::string& text : texts) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

// `more`, and all variables of this process that `more` does not replace.
std::vector<std::string> environment_with(const std::vector<std::string>& more) {
  std::vector<std::string> out = more;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::string_view name = text.substr(0, text.find('=') + 1);
    if (std::ranges::none_of(more, [&](const std::string& one) { return one.starts_with(name); })) {
      out.emplace_back(text);
    }
  }
  return out;
}

struct Prepared {
  std::vector<char*> words, environment;
  pid_t parent;
  int in, out, errors;
};

// Runs in the child, so only calls that are allowed between fork() and exec() are made.
[[noreturn]] void become(const Prepared& prepared) {
  // The terminal signals only this process, which then ends the child.
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const bool orphaned = ::getppid() != prepared.parent;
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  if (!orphaned && ::dup2(prepared.in, STDIN_FILENO) >= 0 && ::dup2(prepared.out, STDOUT_FILENO) >= 0 &&
      ::dup2(prepared.errors, STDERR_FILENO) >= 0) {
    ::execve(kThisProgram, prepared.words.data(), prepared.environment.data());
  }
  ::_exit(127);
}

Descriptor opened(const std::string& path, int flags) {
  Descriptor out(::open(path.c_str(), flags | O_CLOEXEC, 0666));
  if (!out) throw IoError(cat("cannot open: ", errno_text(errno)), {path});
  return out;
}

// The time to wait, but at most a second: callers wait in a loop.
timespec time_until(Clock::time_point until) {
  constexpr std::chrono::nanoseconds kMost = std::chrono::milliseconds(999);
  const auto left = std::clamp<std::chrono::nanoseconds>(until - Clock::now(), std::chrono::nanoseconds(0), kMost);
  return {.tv_sec = 0, .tv_nsec = left.count()};
}

}  // namespace

ChildProcess::ChildProcess(const Args& args) {
  std::vector<std::string> words = args.words, environment = environment_with(args.environment);
  words.insert(words.begin(), "trainer");
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw IoError(cat("cannot make a pipe: ", errno_text(errno)));
  out_ = Descriptor(ends[0]);
  const Descriptor write_end(ends[1]), in = opened("/dev/null", O_RDONLY),
                                       errors = opened(args.error_file, O_WRONLY | O_CREAT | O_APPEND);
  const Prepared prepared{.words = pointers_to(words),
                          .environment = pointers_to(environment),
                          .parent = ::getpid(),
                          .in = in.get(),
                          .out = write_end.get(),
                          .errors = errors.get()};
  process_ = ::fork();
  if (process_ == 0) become(prepared);
  if (process_ < 0) throw IoError(cat("cannot start a process: ", errno_text(errno)));
}

ChildProcess::~ChildProcess() {
  if (end_) return;
  kill();
  wait();
}

ChildProcess::Got ChildProcess::next_line(std::string& line, Clock::time_point until) {
  for (;;) {
    const size_t end = unread_.find('\n', begin_);
    if (end != unread_.npos) {
      line.assign(unread_, begin_, end - begin_);
      begin_ = end + 1;
      return Got::line;
    }
    if (closed_) return Got::end;
    if (Clock::now() >= until) return Got::nothing;
    unread_.erase(0, std::exchange(begin_, 0));
    pollfd wait[] = {{out_.get(), POLLIN, 0}, {SignalWatcher::stop_request(), POLLIN, 0}};
    const timespec time = time_until(until);
    if (::ppoll(wait, 2, &time, nullptr) <= 0) continue;
    if (wait[1].revents != 0) return Got::stop;
    std::array<char, 65536> bytes;
    const ssize_t got = ::read(out_.get(), bytes.data(), bytes.size());
    if (got < 0 && errno == EINTR) continue;
    closed_ = got <= 0;
    if (!closed_) unread_.append(bytes.data(), static_cast<size_t>(got));
  }
}

void ChildProcess::kill() noexcept {
  if (!end_) ::kill(process_, SIGKILL);
}

ChildProcess::End ChildProcess::wait() {
  int status = 0;
  while (!end_) {
    const pid_t waited = ::waitpid(process_, &status, 0);
    if (waited < 0 && errno == EINTR) continue;
    if (waited < 0) throw IoError(cat("cannot wait for a process: ", errno_text(errno)));
    end_ = WIFEXITED(status) ? End{.code = WEXITSTATUS(status)} : End{.signal = WTERMSIG(status)};
  }
  return *end_;
}

}  // namespace millrace::cli
