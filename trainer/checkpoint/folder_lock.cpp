#include "millrace/trainer/checkpoint/folder_lock.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <optional>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"

namespace millrace {

namespace {

constexpr const char* kLockName = "checkpoint.lock";
constexpr int kEndingMs = 30000;  // wait for a process that was killed
constexpr int kMomentMs = 200;    // wait for any other process

// Returns 0 if the lock was taken, else the errno of the failure.
int take_lock(const Descriptor& file) {
  int result = -1;
  do {
    result = ::flock(file.get(), LOCK_EX | LOCK_NB);
  } while (result != 0 && errno == EINTR);
  return result == 0 ? 0 : errno;
}

std::string host_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return "unknown";
  return name.data();
}

// The first line of the file, which names the holder; empty if the holder has not written it yet.
std::string holder_of(const Descriptor& file) {
  std::array<char, 512> bytes{};
  const ssize_t got = ::pread(file.get(), bytes.data(), bytes.size() - 1, 0);
  const std::string text(bytes.data(), got < 0 ? 0 : static_cast<size_t>(got));
  return text.substr(0, text.find('\n'));
}

std::optional<pid_t> process_here(const std::string& holder) {
  const std::string here = host_name() + ' ';
  pid_t process = 0;
  const char* const end = holder.data() + holder.size();
  if (!holder.starts_with(here) || std::from_chars(holder.data() + here.size(), end, process).ptr != end) return {};
  return process;
}

// Whether the process was killed. It may be giving back its memory already.
bool is_ending(pid_t process) {
  constexpr uint64_t kKill = uint64_t{1} << (SIGKILL - 1);
  std::ifstream status(cat("/proc/", process, "/status"));
  bool has_memory = false;
  for (std::string line; std::getline(status, line);) {
    has_memory |= line.starts_with("VmSize:");
    const bool pending = line.starts_with("SigPnd:") || line.starts_with("ShdPnd:");
    if (pending && (std::strtoull(line.c_str() + 7, nullptr, 16) & kKill) != 0) return true;
  }
  return !has_memory;
}

// A process that was killed has the lock until what it was writing is on the disk. Waits for that; returns false if the
// process does not end.
bool ended(const std::string& holder) {
  const std::optional<pid_t> process = process_here(holder);
  if (!process || *process == ::getpid()) return false;
  const Descriptor end(static_cast<int>(::syscall(SYS_pidfd_open, *process, 0)));
  if (!end) return errno == ESRCH;
  pollfd wait{end.get(), POLLIN, 0};
  return ::poll(&wait, 1, is_ending(*process) ? kEndingMs : kMomentMs) > 0;
}

ConfigError held_by_another(const std::string& folder, const std::string& holder) {
  const size_t blank = holder.find(' ');
  const std::string who = blank == holder.npos ? std::string()
                                               : cat(": on host ", quote(holder.substr(0, blank), 256), ", process ",
                                                     shortened(holder.substr(blank + 1), 20));
  return ConfigError(cat("another training writes its checkpoints here", who), {folder, 0, 0},
                     "give each training a checkpoint.dir of its own, or wait until that one has ended");
}

}  // namespace

FolderLock::FolderLock(const std::string& folder, FileCalls& calls)
    : path_((std::filesystem::path(folder) / kLockName).string()), file_(calls.open(path_, O_RDWR | O_CREAT)) {
  if (!file_) throw IoError(cat("cannot write: ", errno_text(errno)), {path_, 0, 0});
  int code = take_lock(file_);
  if (code == EWOULDBLOCK && ended(holder_of(file_))) code = take_lock(file_);
  switch (code) {
    case 0: break;
    case EWOULDBLOCK: throw held_by_another(folder, holder_of(file_));
    case ENOLCK:
    case ENOSYS:
    case EINVAL:
    case EOPNOTSUPP: held_ = false; return;
    default: throw IoError(cat("cannot lock: ", errno_text(code)), {path_, 0, 0});
  }
  // Only the messages of other trainings use this line, so a full disk does no harm here.
  if (::ftruncate(file_.get(), 0) == 0) (void)write_all(calls, file_, cat(host_name(), ' ', ::getpid(), '\n'));
}

void FolderLock::check() const {
  struct stat held {};
  struct stat now {};
  if (::stat(path_.c_str(), &now) != 0) throw IoError(cat("the lock is gone: ", errno_text(errno)), {path_, 0, 0});
  if (::fstat(file_.get(), &held) == 0 && held.st_dev == now.st_dev && held.st_ino == now.st_ino) return;
  throw IoError("this is no longer the lock that the training has", {path_, 0, 0},
                "another training may write its checkpoints here now");
}

}  // namespace millrace
