#include "millrace/trainer/remote/zmq_library.h"

#include "millrace/core/errors.h"
#include "millrace/core/text.h"

namespace millrace {

namespace {

constexpr char kZmqHint[] = "install libzmq5 (Debian 12), or ZeroMQ 4.3 or later";

}  // namespace

ZmqCalls::ZmqCalls()
    : library_({.name = "libzmq", .purpose = "remote workers", .sonames = {"libzmq.so.5"}, .hint = kZmqHint}) {
  int major = 0, minor = 0, patch = 0;
  version(&major, &minor, &patch);
  if (major > 4 || (major == 4 && minor >= 3)) return;
  throw ConfigError(cat(library_.path(), " is libzmq ", version_text(), ", which is too old"), {}, kZmqHint);
}

std::string ZmqCalls::text_of(int code) const { return code < kFirstError ? errno_text(code) : error_text(code); }

std::string ZmqCalls::version_text() const {
  int major = 0, minor = 0, patch = 0;
  version(&major, &minor, &patch);
  return cat(major, '.', minor, '.', patch);
}

const ZmqCalls& zmq() {
  static const ZmqCalls calls;
  return calls;
}

}  // namespace millrace
