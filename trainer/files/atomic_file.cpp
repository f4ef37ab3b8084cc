#include "millrace/trainer/files/atomic_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"

namespace millrace {

namespace {

IoError write_error(const std::string& path, std::string_view reason, std::string_view hint = {}) {
  return IoError(cat("cannot write: ", reason), {path, 0, 0}, hint);
}

// What to do about a failure `code` to open `path` for writing: make its folder, if that is missing; else empty.
std::string missing_folder_hint(const std::string& path, int code) {
  std::filesystem::path folder = std::filesystem::path(path).parent_path();
  if (folder.empty()) folder = ".";
  std::error_code ignored;
  if (code != ENOENT || std::filesystem::exists(folder, ignored)) return {};
  return cat("make the folder ", quote(folder.string(), 300), " first");
}

// The file that `path` is or links to, whether it is there or not. A link to a file whose name is gone (/dev/stdout may
// be one) is refused: the link itself would be replaced.
std::string follow_links(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code failure;
  if (const fs::path real = fs::canonical(path, failure); !failure) return real.string();
  const fs::path link = fs::read_symlink(path, failure);
  if (failure) return path;
  if (fs::exists(path, failure)) throw write_error(path, "it is a link to a file that has no name any more");
  return (fs::path(path).parent_path() / link).string();
}

}  // namespace

AtomicFile::AtomicFile(const std::string& path) : path_(path), target_(follow_links(path)) {
  struct stat old {};
  const bool replaces = ::stat(target_.c_str(), &old) == 0;
  if (replaces && !S_ISREG(old.st_mode)) {
    throw write_error(path_, S_ISDIR(old.st_mode) ? "it is a folder" : "it exists and is not a regular file");
  }
  const std::filesystem::path whole(target_);
  const std::filesystem::path folder = whole.has_parent_path() ? whole.parent_path() : std::filesystem::path(".");
  const std::string stem = cat((folder / ".").string(), whole.filename().string(), '.', ::getpid(), '-');
  for (int attempt = 0; !file_; ++attempt) {
    temporary_ = cat(stem, attempt, ".tmp");
    file_ = Descriptor(::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    if (file_ || (errno == EEXIST && attempt < 1000)) continue;
    const int code = errno;
    temporary_.clear();
    throw write_error(path_, errno_text(code), missing_folder_hint(target_, code));
  }
  if (replaces) (void)::fchmod(file_.get(), old.st_mode & 07777);
}

AtomicFile::~AtomicFile() {
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void AtomicFile::fail(int code) const { throw write_error(path_, errno_text(code)); }

void AtomicFile::write(std::string_view bytes) {
  if (const int code = write_all(file_.get(), bytes); code != 0) fail(code);
}

void AtomicFile::commit() {
  if (::fsync(file_.get()) != 0) fail(errno);
  if (::close(file_.release()) != 0) fail(errno);
  if (std::rename(temporary_.c_str(), target_.c_str()) != 0) fail(errno);
  temporary_.clear();
  // The new name is safe once the folder is synced. Some file systems cannot sync a folder; then trying does no harm.
  const std::filesystem::path folder = std::filesystem::path(target_).parent_path();
  const Descriptor opened(::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (opened) (void)::fsync(opened.get());
}

int write_all(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return 0;
}

void check_writable(const std::string& path) { const AtomicFile probe(path); }

}  // namespace millrace
