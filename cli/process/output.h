// Output: a buffered file or standard output whose failures are never lost. A file appears whole when it is closed, or
// not at all.
//
//   Output out = Output::standard();
//   out.write(line);
//   out.flush();
//
// One thread uses an Output. What was not flushed is lost when it is destroyed, and a file with it: call close().
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "millrace/core/errors.h"
#include "millrace/trainer/files/atomic_file.h"
#include "millrace/trainer/files/descriptor.h"

namespace millrace::cli {

// Whoever read our standard output has gone (`| head`): a reason to stop quietly, no failure.
MILLRACE_DECLARE_ERROR(OutputClosed, IoError);

class Output {
 public:
  static Output standard();
  // `path` gets its contents by close(). What is no regular file (a pipe, a device), and the file that standard output
  // or standard error is, takes them as they come. Throws IoError.
  static Output file(const std::string& path);

  // Throw IoError with the reason, OutputClosed when nobody reads any more.
  void write(std::string_view text);
  void flush();
  // flush() where a failure has already been found: another one is not told.
  void flush_quietly() noexcept;
  // flush(), then close: some failures show only there. Nothing may be written afterwards.
  void close();

 private:
  Output(Descriptor descriptor, int number, std::string name);
  explicit Output(std::unique_ptr<AtomicFile> file);
  [[noreturn]] void fail(int code) const;

  std::unique_ptr<AtomicFile> file_;  // null for what is written as it comes
  Descriptor owned_;                  // empty for standard output and for file_
  int number_ = -1;                   // where file_ is null
  std::string name_;
  std::string buffer_;
};

// Writes all of `text` to standard error; failures have nowhere to go and are dropped.
void write_to_stderr(std::string_view text);

}  // namespace millrace::cli
