#include "millrace/cli/process/output.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "millrace/core/text.h"

namespace millrace::cli {

namespace {

constexpr size_t kBufferBytes = size_t{1} << 16;

// The number of the standard stream that writes to the file `status` (/dev/stdout, or the file of a redirection); -1 if
// there is none.
int standard_stream(const struct stat& status) {
  for (const int number : {STDOUT_FILENO, STDERR_FILENO}) {
    struct stat own {};
    if (::fstat(number, &own) == 0 && own.st_dev == status.st_dev && own.st_ino == status.st_ino) return number;
  }
  return -1;
}

}  // namespace

MILLRACE_DEFINE_ERROR(OutputClosed, IoError, io);

Output::Output(std::unique_ptr<AtomicFile> file, std::string name)
    : file_(std::move(file)), stream_(Descriptor()), name_(std::move(name)) {}
Output::Output(Stream stream, std::string name) : stream_(std::move(stream)), name_(std::move(name)) {}

Output Output::standard() { return Output(Stream::standard(STDOUT_FILENO), "standard output"); }

Output Output::whole_file(const std::string& path) { return Output(std::make_unique<AtomicFile>(path), path); }

Output Output::file(const std::string& path) {
  struct stat status {};
  const bool there = ::stat(path.c_str(), &status) == 0;
  const bool regular = there && S_ISREG(status.st_mode);
  const int stream = regular ? standard_stream(status) : -1;
  // If it is a folder, AtomicFile throws.
  const bool whole = !there || regular || S_ISDIR(status.st_mode);
  if (whole && stream < 0) return whole_file(path);
  if (stream < 0) return Output(Stream::open(path), path);
  // A stream is duplicated: if the file were opened again, it would be written from its beginning, over the stream's
  // text.
  Descriptor same(::fcntl(stream, F_DUPFD_CLOEXEC, 0));
  if (!same) throw IoError(cat("cannot write: ", errno_text(errno)), {path});
  return Output(Stream(std::move(same)), path);
}

void Output::write(std::string_view text) {
  buffer_ += text;
  bytes_ += text.size();
  if (buffer_.size() >= kBufferBytes) flush();
}

void Output::flush() {
  const std::string text = std::exchange(buffer_, {});
  if (file_) return file_->write(text);
  expect(stream_.write(text));
}

void Output::flush_quietly() noexcept {
  try {
    flush();
  } catch (...) {
    // Only the failure that came first is reported.
  }
}

void Output::close() {
  flush();
  if (file_) file_->commit();
  expect(stream_.close());
}

void Output::expect(int code) const {
  if (code == 0) return;
  if (code == ECANCELED) throw OutputStopped(cat("nobody reads ", name_, ", and a signal came"));
  if (code == EPIPE) throw OutputClosed(cat("nobody reads ", name_, " any more"));
  throw IoError(cat("writing failed: ", errno_text(code)), {name_});
}

void write_to_stderr(std::string_view text) { (void)Stream::standard(STDERR_FILENO).write(text); }

}  // namespace millrace::cli
