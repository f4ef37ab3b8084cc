#include "millrace/input/files/append_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "millrace/input/files/atomic_file.h"
#include "millrace/input/files/file_calls.h"

namespace millrace {

namespace {

[[noreturn]] void refuse(const std::string& path, int code) {
  throw IoError(cat("cannot write: ", errno_text(code)), {path});
}

void expect_regular(const std::string& path, mode_t mode) {
  if (S_ISREG(mode)) return;
  throw IoError(cat("cannot write: ", S_ISDIR(mode) ? "it is a folder" : "it exists and is not a regular file"),
                {path});
}

// O_NONBLOCK: if the file has become a pipe meanwhile, opening it fails instead of waiting.
Descriptor open_to_append(const std::string& path, int also) {
  Descriptor file;
  do {
    file = Descriptor(::open(path.c_str(), O_WRONLY | O_APPEND | O_NONBLOCK | O_CLOEXEC | also, 0666));
  } while (!file && errno == EINTR);
  if (!file) refuse(path, errno);
  return file;
}

Descriptor make_to_append(const std::string& path) {
  AppendFile::check(path);
  return open_to_append(path, O_CREAT);
}

}  // namespace

void AppendFile::check(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0) {
    expect_regular(path, status.st_mode);
    open_to_append(path, 0);
  } else if (errno != ENOENT || path.empty()) {
    refuse(path, errno);
  } else {
    check_writable(path);
  }
}

AppendFile::AppendFile(const std::string& path, bool goes_on) : path_(path), file_(make_to_append(path)) {
  struct stat status {};
  if (::fstat(file_.get(), &status) != 0) refuse(path, errno);
  expect_regular(path, status.st_mode);
  if (!goes_on && ::ftruncate(file_.get(), 0) != 0) refuse(path, errno);
}

// One write for a line: the system puts it at the end as a whole. These are not FileCalls::system(): whoever lets one
// of those fail counts them, and there may be any number of lines.
void AppendFile::append(std::string_view line) {
  FileCalls calls;
  if (const int code = write_all(calls, file_, line); code != 0) refuse(path_, code);
}

}  // namespace millrace
