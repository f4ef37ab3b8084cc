#include "millrace/input/files/atomic_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <utility>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "millrace/input/files/links.h"

namespace millrace {

namespace {

constexpr int kMostNames = 1000;
// A temporary name begins with at most so many bytes of the file's name, so it is never too long if the name is not.
constexpr size_t kKeptName = 100;
constexpr std::string_view kEnding = ".tmp";

IoError write_error(const std::string& path, std::string_view reason, std::string_view hint = {}) {
  return IoError(cat("cannot write: ", reason), {path, 0, 0}, hint);
}

std::string parent_of(const std::string& path) {
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  return folder.empty() ? "." : folder.string();
}

// The name under which the system finds an open file.
std::string name_of(const Descriptor& file) { return cat("/proc/self/fd/", file.get()); }

// The beginning of all temporary names for `name`.
std::string_view kept_part(std::string_view name) { return name.substr(0, kKeptName); }

// Opens a file without a name, of which nothing stays if the program is killed. Empty if the file system has no such
// files, or could not give them a name later.
Descriptor open_nameless(FileCalls& calls, const std::string& folder) {
  Descriptor file = calls.open_nameless(folder);
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0) return {};
  // Some systems do not apply the umask to such files.
  if ((status.st_mode & 0777) == 0666 || ::access(name_of(file).c_str(), F_OK) != 0) return {};
  return file;
}

}  // namespace

AtomicFile::AtomicFile(const std::string& path, FileCalls& calls)
    : calls_(calls), path_(path), target_(follow_links(path)) {
  struct stat old {};
  replaces_ = ::stat(target_.c_str(), &old) == 0;
  if (!replaces_ && (errno != ENOENT || path.empty())) fail(errno);
  if (replaces_ && !S_ISREG(old.st_mode)) {
    throw write_error(path_, S_ISDIR(old.st_mode) ? "it is a folder" : "it exists and is not a regular file");
  }
  file_ = open_nameless(calls_, parent_of(target_));
  if (!file_) open_with_name();
  if (replaces_) (void)::fchmod(file_.get(), old.st_mode & 07777);
}

AtomicFile::~AtomicFile() {
  if (!temporary_.empty()) (void)calls_.unlink(temporary_);
}

void AtomicFile::fail(int code) const {
  const bool full = code == ENOSPC || code == EDQUOT;
  throw write_error(path_, errno_text(code),
                    full ? "free some space, or write to another disk" : missing_folder_hint(target_, code));
}

// Calls make(name), which returns whether it made a file of that name, with one name after another, until one is free.
template <class Make>
bool AtomicFile::make_temporary(const Make& make) {
  const std::string name = std::filesystem::path(target_).filename().string();
  for (int attempt = 0; attempt < kMostNames; ++attempt) {
    std::string temporary = cat(parent_of(target_), '/', kept_part(name), '.', ::getpid(), '-', attempt, kEnding);
    if (make(temporary)) {
      temporary_ = std::move(temporary);
      return true;
    }
    if (errno != EEXIST) return false;
  }
  return false;
}

void AtomicFile::open_with_name() {
  const bool made = make_temporary([this](const std::string& name) {
    file_ = calls_.open(name, O_RDWR | O_CREAT | O_EXCL);
    return static_cast<bool>(file_);
  });
  if (!made) fail(errno);
}

void AtomicFile::write(std::string_view bytes) {
  if (const int code = write_all(calls_, file_, bytes); code != 0) fail(code);
}

void AtomicFile::read(uint64_t offset, std::span<char> bytes) const {
  while (!bytes.empty()) {
    const ssize_t got = ::pread(file_.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      throw IoError(cat("cannot read what was written: ", got == 0 ? "it is gone" : errno_text(errno)), {path_, 0, 0});
    }
    offset += static_cast<uint64_t>(got);
    bytes = bytes.subspan(static_cast<size_t>(got));
  }
}

void AtomicFile::commit() {
  if (calls_.sync(file_) != 0) fail(errno);
  if (temporary_.empty()) give_name();
  if (calls_.close(file_) != 0) fail(errno);
  if (!temporary_.empty() && calls_.rename(temporary_, target_) != 0) fail(errno);
  temporary_.clear();
  sync_folder();
}

// Gives a nameless file its final name if no file has it, else a temporary name.
void AtomicFile::give_name() {
  const std::string nameless = name_of(file_);
  if (!replaces_ && calls_.link(nameless, target_) == 0) return;
  const bool linked = make_temporary([&](const std::string& name) { return calls_.link(nameless, name) == 0; });
  if (!linked) copy_to_name();
}

// Used if the system does not allow the link, so that the contents are not lost.
void AtomicFile::copy_to_name() {
  const Descriptor from = std::exchange(file_, {});
  open_with_name();
  struct stat status {};
  if (::fstat(from.get(), &status) == 0) (void)::fchmod(file_.get(), status.st_mode & 07777);
  std::array<char, 65536> bytes;
  for (off_t at = 0;;) {
    const ssize_t got = ::pread(from.get(), bytes.data(), bytes.size(), at);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail(errno);
    if (got == 0) break;
    write({bytes.data(), static_cast<size_t>(got)});
    at += got;
  }
  if (calls_.sync(file_) != 0) fail(errno);
}

// The new name is on the disk only after the folder is synced. Some failures do no harm and are ignored: some file
// systems cannot sync folders, and a user who may write into a folder may not be allowed to open it.
void AtomicFile::sync_folder() {
  const Descriptor folder = calls_.open(parent_of(target_), O_RDONLY | O_DIRECTORY);
  if (!folder && errno != EACCES && errno != EPERM) fail(errno);
  if (!folder || calls_.sync(folder) == 0) return;
  if (errno == EIO || errno == ENOSPC || errno == EDQUOT) fail(errno);
}

std::optional<pid_t> writer_of_temporary(std::string_view name, std::string_view of) {
  const std::string_view kept = kept_part(of);
  if (!name.starts_with(kept) || !name.substr(kept.size()).ends_with(kEnding)) return {};
  name = name.substr(kept.size(), name.size() - kept.size() - kEnding.size());
  // `name` is now like ".PID-0".
  pid_t process = 0;
  const size_t dash = name.find('-');
  if (!name.starts_with('.') || dash == name.npos) return {};
  const auto [end, fault] = std::from_chars(name.data() + 1, name.data() + dash, process);
  if (fault != std::errc() || end != name.data() + dash || process <= 0) return {};
  const std::string_view attempt = name.substr(dash + 1);
  const bool is_number = !attempt.empty() && attempt.find_first_not_of("0123456789") == attempt.npos;
  return is_number ? std::optional(process) : std::nullopt;
}

void check_writable(const std::string& path) { const AtomicFile probe(path); }

}  // namespace millrace
