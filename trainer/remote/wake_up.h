// WakeUp: a descriptor that a thread can wait for beside sockets; any thread makes it readable.
#pragma once

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include "millrace/core/descriptor.h"
#include "millrace/core/errors.h"
#include "millrace/core/text.h"

namespace millrace {

class WakeUp {
 public:
  WakeUp() : event_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
    if (!event_) throw IoError(cat("cannot make an event: ", errno_text(errno)));
  }
  void signal() noexcept {
    const uint64_t one = 1;
    (void)!::write(event_.get(), &one, sizeof one);
  }
  void clear() noexcept {
    uint64_t count = 0;
    (void)!::read(event_.get(), &count, sizeof count);
  }
  int descriptor() const { return event_.get(); }

 private:
  Descriptor event_;
};

}  // namespace millrace
