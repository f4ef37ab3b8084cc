// Output: a buffered file or standard output whose failures are never lost. A file appears whole when it is closed, or
// not at all. Other output waits for its reader, and a signal ends the wait (stream.h).
//
//   Output out = Output::standard();
//   out.write(line);
//   out.flush();
//
// One thread uses an Output. Call close(): the destructor drops text that was not flushed, and the whole file with it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "millrace/cli/process/stream.h"
#include "millrace/core/errors.h"
#include "millrace/input/files/atomic_file.h"

namespace millrace::cli {

// The reader of our standard output has closed it (`| head`): a reason to stop quietly, not a failure.
MILLRACE_DECLARE_ERROR(OutputClosed, IoError);

class Output {
 public:
  static Output standard();
  // The file `path` gets its contents in close(). A pipe or a device gets them as they are written, and so does the
  // file to which standard output or standard error is redirected. Throws IoError, and OutputStopped if a signal comes
  // before somebody reads the pipe.
  static Output file(const std::string& path);
  // Throws IoError also if `path` is there and is not a regular file.
  static Output whole_file(const std::string& path);

  uint64_t bytes() const { return bytes_; }  // written so far, flushed or not

  // These, and close(), throw IoError with the reason; OutputClosed if nobody reads any more; OutputStopped if a signal
  // came and the reader takes nothing. Text that was not written by then is dropped.
  void write(std::string_view text);
  void flush();
  // flush() after a failure: if it fails too, it does not say so.
  void flush_quietly() noexcept;
  // flush(), then close: some failures show only there. Nothing may be written afterwards.
  void close();

 private:
  Output(std::unique_ptr<AtomicFile> file, std::string name);
  Output(Stream stream, std::string name);
  void expect(int code) const;

  std::unique_ptr<AtomicFile> file_;  // null if text is written as it comes
  Stream stream_;                     // unused if there is a file_
  std::string name_;
  std::string buffer_;
  uint64_t bytes_ = 0;
};

// Writes all of `text` to standard error; failures have nowhere to go and are dropped.
void write_to_stderr(std::string_view text);

}  // namespace millrace::cli
