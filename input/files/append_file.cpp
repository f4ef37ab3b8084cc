#include "millrace/input/files/append_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "millrace/input/files/links.h"

namespace millrace {

namespace {

// `target` is where `path` leads.
[[noreturn]] void refuse(const std::string& path, int code, const std::string& target) {
  throw IoError(cat("cannot write: ", errno_text(code)), {path}, missing_folder_hint(target, code));
}

void expect_regular(const std::string& path, mode_t mode) {
  if (S_ISREG(mode)) return;
  throw IoError(cat("cannot write: ", S_ISDIR(mode) ? "it is a folder" : "it exists and is not a regular file"),
                {path});
}

bool may_write(const std::string& path, int also = 0) {
  return ::faccessat(AT_FDCWD, path.c_str(), W_OK | also, AT_EACCESS) == 0;
}

// O_NONBLOCK: should it have become a pipe meanwhile, it is refused, not waited for.
Descriptor open_to_append(const std::string& path) {
  AppendFile::check(path);
  Descriptor file;
  do {
    file = Descriptor(::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_NONBLOCK | O_CLOEXEC, 0666));
  } while (!file && errno == EINTR);
  if (!file) refuse(path, errno, path);
  return file;
}

}  // namespace

void AppendFile::check(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0) {
    expect_regular(path, status.st_mode);
    if (!may_write(path)) refuse(path, errno, path);
    return;
  }
  if (errno != ENOENT || path.empty()) refuse(path, errno, path);
  const std::string target = follow_links(path);
  const std::filesystem::path folder = std::filesystem::path(target).parent_path();
  if (!may_write(folder.empty() ? "." : folder.string(), X_OK)) refuse(path, errno, target);
}

AppendFile::AppendFile(const std::string& path, bool goes_on) : path_(path), file_(open_to_append(path)) {
  struct stat status {};
  if (::fstat(file_.get(), &status) != 0) refuse(path, errno, path);
  expect_regular(path, status.st_mode);
  if (!goes_on && ::ftruncate(file_.get(), 0) != 0) refuse(path, errno, path);
}

// One write for a line: the system puts it at the end as a whole.
void AppendFile::append(std::string_view line) {
  if (const int code = write_all(file_.get(), line); code != 0) refuse(path_, code, path_);
}

}  // namespace millrace
