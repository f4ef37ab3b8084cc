#include "tests/support/run_command.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <system_error>

namespace millrace::testing {

namespace {

void check(int code, const char* what) {
  if (code != 0) throw std::runtime_error(std::string(what) + ": " + std::strerror(code));
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (std::string& text : texts) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

// `more`, then the parent's environment: the first of equal names counts.
std::vector<std::string> environment(const std::vector<std::string>& more) {
  std::vector<std::string> out = more;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::string_view name = text.substr(0, text.find('=') + 1);
    bool replaced = false;
    for (const std::string& given : more) replaced = replaced || given.starts_with(name);
    if (!replaced) out.emplace_back(text);
  }
  return out;
}

// Fills a pipe. Afterwards its flags are as before.
void fill_up(int descriptor) {
  const int flags = ::fcntl(descriptor, F_GETFL);
  ::fcntl(descriptor, F_SETFL, flags | O_NONBLOCK);
  const std::string line(4096, '.');
  while (::write(descriptor, line.data(), line.size()) > 0) {
  }
  ::fcntl(descriptor, F_SETFL, flags);
}

// Bytes written to ends[1] are read from ends[0].
struct Channel {
  Channel(bool terminal, int columns) {
    if (terminal) {
      open_terminal(columns);
    } else if (::pipe2(ends, O_CLOEXEC) != 0) {
      throw std::runtime_error("pipe2 failed");
    }
  }

  void open_terminal(int columns) {
    ends[0] = ::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (ends[0] < 0 || ::grantpt(ends[0]) != 0 || ::unlockpt(ends[0]) != 0) throw std::runtime_error("no terminal");
    ends[1] = ::open(::ptsname(ends[0]), O_RDWR | O_NOCTTY | O_CLOEXEC);
    const winsize size{.ws_row = 25, .ws_col = static_cast<unsigned short>(columns), .ws_xpixel = 0, .ws_ypixel = 0};
    if (ends[1] < 0 || ::ioctl(ends[1], TIOCSWINSZ, &size) != 0) throw std::runtime_error("no terminal");
  }

  int ends[2] = {-1, -1};
};

}  // namespace

Command::Command(const std::vector<std::string>& words, const CommandOptions& options) {
  const Channel out(options.out_terminal, options.columns), err(options.terminal, options.columns);
  if (options.full_out) fill_up(out.ends[1]);
  leaves_out_ = options.full_out;
  if (options.nonblocking_out) ::fcntl(out.ends[1], F_SETFL, O_NONBLOCK);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  if (options.out_file.empty()) {
    posix_spawn_file_actions_adddup2(&actions, out.ends[1], STDOUT_FILENO);
  } else {
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, options.out_file.c_str(), O_WRONLY, 0);
  }
  posix_spawn_file_actions_adddup2(&actions, err.ends[1], STDERR_FILENO);
  if (!options.folder.empty()) posix_spawn_file_actions_addchdir_np(&actions, options.folder.c_str());

  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);

  std::vector<std::string> arguments = words, variables = environment(options.environment);
  const int code = posix_spawn(&process_, words.front().c_str(), &actions, &attributes, pointers(arguments).data(),
                               pointers(variables).data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  ::close(out.ends[1]);
  ::close(err.ends[1]);
  out_.descriptor = out.ends[0];
  err_.descriptor = err.ends[0];
  check(code, words.front().c_str());
}

Command::~Command() {
  if (process_ > 0) {
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
  }
  close_out();
  if (err_.descriptor >= 0) ::close(err_.descriptor);
}

void Command::send(int signal) const { ::kill(process_, signal); }

void Command::close_out() {
  if (out_.descriptor >= 0) ::close(out_.descriptor);
  out_.descriptor = -1;
}

bool Command::wait_for(Stream& stream, std::string_view text) {
  while (stream.text.find(text) == std::string::npos) {
    if (stream.descriptor < 0 || !pump()) return false;
  }
  return true;
}

bool Command::pump() {
  pollfd wait[] = {{leaves_out_ ? -1 : out_.descriptor, POLLIN, 0}, {err_.descriptor, POLLIN, 0}};
  if (out_.descriptor < 0 && err_.descriptor < 0) return false;
  while (::poll(wait, 2, -1) < 0 && errno == EINTR) {
  }
  Stream* streams[] = {&out_, &err_};
  for (int i = 0; i < 2; ++i) {
    if (streams[i]->descriptor < 0 || wait[i].revents == 0) continue;
    char buffer[4096];
    const ssize_t count = ::read(streams[i]->descriptor, buffer, sizeof buffer);
    if (count > 0) {
      streams[i]->text.append(buffer, static_cast<size_t>(count));
    } else if (count == 0 || errno != EINTR) {
      ::close(streams[i]->descriptor);
      streams[i]->descriptor = -1;
    }
  }
  return true;
}

bool Command::ends_within(int milliseconds) const {
  pollfd ended = {static_cast<int>(::syscall(SYS_pidfd_open, process_, 0)), POLLIN, 0};
  if (ended.fd < 0) throw std::runtime_error("pidfd_open failed");
  while (::poll(&ended, 1, milliseconds) < 0 && errno == EINTR) {
  }
  ::close(ended.fd);
  return ended.revents != 0;
}

// A page of a pipe may have a little room left that is too small for the next line.
bool Command::wait_until_full(const Stream& stream) const {
  const int room = ::fcntl(stream.descriptor, F_GETPIPE_SZ);
  for (int there = 0; there < room / 10 * 9;) {
    if (ends_within(1)) return false;
    if (::ioctl(stream.descriptor, FIONREAD, &there) != 0) return false;
  }
  return true;
}

// Whether the file has no name, or one that ends with .tmp.
bool Command::wait_for_unfinished_file(const std::string& folder) const {
  const std::filesystem::path descriptors = "/proc/" + std::to_string(process_) + "/fd";
  while (!ends_within(1)) {
    std::error_code gone;  // descriptors come and go
    for (auto entry = std::filesystem::directory_iterator(descriptors, gone); !gone && entry != end(entry);
         entry.increment(gone)) {
      std::error_code closed;
      const std::string file = std::filesystem::read_symlink(entry->path(), closed).string();
      if (file.starts_with(folder) && (file.ends_with(" (deleted)") || file.ends_with(".tmp"))) return true;
    }
  }
  return false;
}

CommandResult Command::finish_unread() {
  if (!ends_within(60'000)) ::kill(process_, SIGKILL);
  return finish();
}

CommandResult Command::finish() {
  leaves_out_ = false;
  while (pump()) {
  }
  int status = 0;
  while (::waitpid(process_, &status, 0) < 0 && errno == EINTR) {
  }
  process_ = -1;
  CommandResult result{.out = out_.text, .err = err_.text};
  if (WIFEXITED(status)) result.exit_code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) result.signal = WTERMSIG(status);
  return result;
}

CommandResult run_command(const std::vector<std::string>& words, const CommandOptions& options) {
  return Command(words, options).finish();
}

}  // namespace millrace::testing
