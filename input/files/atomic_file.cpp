#include "millrace/input/files/atomic_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <utility>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "millrace/input/files/links.h"

namespace millrace {

namespace {

constexpr int kMostNames = 1000;
// Of the name that a temporary file begins with. The whole of it is never too long where the name itself is not.
constexpr size_t kKeptName = 100;

IoError write_error(const std::string& path, std::string_view reason, std::string_view hint = {}) {
  return IoError(cat("cannot write: ", reason), {path, 0, 0}, hint);
}

std::string parent_of(const std::string& path) {
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  return folder.empty() ? "." : folder.string();
}

// The name under which the system finds an open file.
std::string name_of(const Descriptor& file) { return cat("/proc/self/fd/", file.get()); }

// A file that has no name yet: nothing of it stays if the program is killed. Empty where there are no such files, or
// where they could not get a name later.
Descriptor open_nameless(const std::string& folder) {
  Descriptor file(::open(folder.c_str(), O_RDWR | O_TMPFILE | O_CLOEXEC, 0666));
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0) return {};
  // Some systems forget the umask of such files.
  if ((status.st_mode & 0777) == 0666 || ::access(name_of(file).c_str(), F_OK) != 0) return {};
  return file;
}

}  // namespace

AtomicFile::AtomicFile(const std::string& path) : path_(path), target_(follow_links(path)) {
  struct stat old {};
  const bool replaces = ::stat(target_.c_str(), &old) == 0;
  if (!replaces && (errno != ENOENT || path.empty())) fail(errno);
  if (replaces && !S_ISREG(old.st_mode)) {
    throw write_error(path_, S_ISDIR(old.st_mode) ? "it is a folder" : "it exists and is not a regular file");
  }
  file_ = open_nameless(parent_of(target_));
  if (!file_) open_with_name();
  if (replaces) (void)::fchmod(file_.get(), old.st_mode & 07777);
}

AtomicFile::~AtomicFile() {
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void AtomicFile::fail(int code) const {
  throw write_error(path_, errno_text(code), missing_folder_hint(target_, code));
}

// Calls make(name), which returns whether it made a file of that name, with one name after another, until one is free.
template <class Make>
bool AtomicFile::make_temporary(const Make& make) {
  const std::string name = std::filesystem::path(target_).filename().string().substr(0, kKeptName);
  for (int attempt = 0; attempt < kMostNames; ++attempt) {
    std::string temporary = cat(parent_of(target_), '/', name, '.', ::getpid(), '-', attempt, ".tmp");
    if (make(temporary.c_str())) {
      temporary_ = std::move(temporary);
      return true;
    }
    if (errno != EEXIST) return false;
  }
  return false;
}

void AtomicFile::open_with_name() {
  const bool made = make_temporary([this](const char* name) {
    file_ = Descriptor(::open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    return static_cast<bool>(file_);
  });
  if (!made) fail(errno);
}

void AtomicFile::write(std::string_view bytes) {
  if (const int code = write_all(file_.get(), bytes); code != 0) fail(code);
}

void AtomicFile::commit() {
  if (::fsync(file_.get()) != 0) fail(errno);
  if (temporary_.empty()) give_name();
  if (::close(file_.release()) != 0) fail(errno);
  if (std::rename(temporary_.c_str(), target_.c_str()) != 0) fail(errno);
  temporary_.clear();
  // The new name is safe once the folder is synced. Some file systems cannot sync a folder; then trying does no harm.
  const Descriptor opened(::open(parent_of(target_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (opened) (void)::fsync(opened.get());
}

void AtomicFile::give_name() {
  const std::string nameless = name_of(file_);
  const bool linked = make_temporary(
      [&](const char* name) { return ::linkat(AT_FDCWD, nameless.c_str(), AT_FDCWD, name, AT_SYMLINK_FOLLOW) == 0; });
  if (!linked) copy_to_name();
}

// Where the system does not allow the link: what was written is not to be lost for that.
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
  if (::fsync(file_.get()) != 0) fail(errno);
}

void check_writable(const std::string& path) { const AtomicFile probe(path); }

}  // namespace millrace
