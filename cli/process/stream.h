// Stream: writes text to a descriptor. A signal ends the wait for a reader that takes nothing.
//
// A write waits while there is no room, also if the descriptor does not block. After a signal that ends the work
// (signals.h) it waits only as long as the reader takes something at least every two seconds. Text that was written
// stays written, so the last line may be cut off. After a reader took nothing for that long, no reader is waited for
// any more. One thread uses a Stream.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "millrace/core/descriptor.h"
#include "millrace/core/errors.h"

namespace millrace::cli {

// A signal came while we waited for a reader: a reason to stop quietly, not a failure.
MILLRACE_DECLARE_ERROR(OutputStopped, IoError);

class Stream {
 public:
  // Standard output or standard error. It is shared with other programs, so its flags stay as they are.
  static Stream standard(int number);
  // Opens a pipe, a device or a file that is there; waits until somebody reads the pipe. Throws IoError, and
  // OutputStopped after a signal.
  static Stream open(const std::string& path);
  // Takes over `file`, a regular file.
  explicit Stream(Descriptor file) : own_(std::move(file)), number_(own_.get()) {}

  // Writes all of `text`. Returns 0 or the errno of what failed; ECANCELED after a signal.
  int write(std::string_view text);
  // Closes what it opened or took over; returns as write() does.
  int close();

 private:
  enum class Way {
    plain,   // a file always has room
    opened,  // opened by us, so it does not block
    socket,  // sends without blocking
    shared,  // may block: never write more than there is room for
  };

  Stream(Descriptor own, int number, Way way) : own_(std::move(own)), number_(number), way_(way) {}
  int wait_for_room();

  Descriptor own_;
  int number_ = -1;
  Way way_ = Way::plain;
};

}  // namespace millrace::cli
