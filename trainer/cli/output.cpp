#include "millrace/trainer/cli/output.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "millrace/core/text.h"
#include "millrace/trainer/atomic_file.h"

namespace millrace::cli {

namespace {

constexpr size_t kBufferBytes = size_t{1} << 16;

// 0, or the errno of the write that failed.
int write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      return errno;
    }
    text.remove_prefix(static_cast<size_t>(written));
  }
  return 0;
}

}  // namespace

OutputClosed::~OutputClosed() = default;

Output::Output(Descriptor descriptor, int number, std::string name)
    : owned_(std::move(descriptor)), number_(number), name_(std::move(name)) {}

Output Output::standard() { return Output({}, STDOUT_FILENO, "standard output"); }

Output Output::file(const std::string& path) {
  const int number = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (number < 0) {
    const int code = errno;
    throw IoError(cat("cannot write: ", errno_text(code)), {path}, missing_folder_hint(path, code));
  }
  return Output(Descriptor(number), number, path);
}

void Output::write(std::string_view text) {
  buffer_ += text;
  if (buffer_.size() >= kBufferBytes) flush();
}

void Output::flush() {
  const int code = write_all(number_, buffer_);
  buffer_.clear();
  if (code != 0) fail(code);
}

void Output::flush_quietly() noexcept {
  write_all(number_, buffer_);
  buffer_.clear();
}

void Output::close() {
  flush();
  if (owned_ && ::close(owned_.release()) != 0 && errno != EINTR) fail(errno);
}

void Output::fail(int code) const {
  if (code == EPIPE) throw OutputClosed(cat("nobody reads ", name_, " any more"));
  throw IoError(cat("writing failed: ", errno_text(code)), {name_});
}

void write_to_stderr(std::string_view text) { write_all(STDERR_FILENO, text); }

}  // namespace millrace::cli
