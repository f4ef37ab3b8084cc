// zmq(): libzmq, opened when it is first needed. A build needs neither the library nor its headers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "millrace/core/shared_library.h"

namespace millrace {

// What libzmq 4.3 and later have, as far as it is called here. A message is a pointer to a zmq_msg_t; what fails sets
// errno.
struct ZmqCalls {
  // zmq_pollitem_t
  struct PollItem {
    void* socket;
    int descriptor;
    short events, happened;
  };
  // Values of errno besides the system's: a protocol that the socket's type does not have, and a context that ends.
  static constexpr int kFirstError = 156384712, kNoProtocol = kFirstError + 52, kTerminated = kFirstError + 53;

 private:
  SharedLibrary library_;

 public:
  // Throws ConfigError if there is no library, or an older one.
  ZmqCalls();

  void (*version)(int*, int*, int*) = library_.named("zmq_version");
  const char* (*error_text)(int) = library_.named("zmq_strerror");

  void* (*make_context)() = library_.named("zmq_ctx_new");
  int (*set_context)(void*, int, int) = library_.named("zmq_ctx_set");
  int (*end_context)(void*) = library_.named("zmq_ctx_term");

  void* (*make_socket)(void*, int) = library_.named("zmq_socket");
  int (*close)(void*) = library_.named("zmq_close");
  int (*set)(void*, int, const void*, size_t) = library_.named("zmq_setsockopt");
  int (*get)(void*, int, void*, size_t*) = library_.named("zmq_getsockopt");
  int (*bind)(void*, const char*) = library_.named("zmq_bind");
  int (*connect)(void*, const char*) = library_.named("zmq_connect");
  int (*monitor)(void*, const char*, int) = library_.named("zmq_socket_monitor");
  int (*poll)(PollItem*, int, long) = library_.named("zmq_poll");

  int (*empty)(void*) = library_.named("zmq_msg_init");
  int (*allocate)(void*, size_t) = library_.named("zmq_msg_init_size");
  int (*wrap)(void*, void*, size_t, void (*)(void*, void*), void*) = library_.named("zmq_msg_init_data");
  int (*send)(void*, void*, int) = library_.named("zmq_msg_send");
  int (*receive)(void*, void*, int) = library_.named("zmq_msg_recv");
  int (*move)(void*, void*) = library_.named("zmq_msg_move");
  int (*drop)(void*) = library_.named("zmq_msg_close");
  void* (*data)(void*) = library_.named("zmq_msg_data");
  size_t (*size)(const void*) = library_.named("zmq_msg_size");
  int (*has_more)(const void*) = library_.named("zmq_msg_more");
  const char* (*property)(const void*, const char*) = library_.named("zmq_msg_gets");

  char* (*z85)(char*, const uint8_t*, size_t) = library_.named("zmq_z85_encode");
  int (*make_keys)(char*, char*) = library_.named("zmq_curve_keypair");
  int (*public_key)(char*, const char*) = library_.named("zmq_curve_public");

  // "Address already in use" for EADDRINUSE, likewise for the library's own values.
  std::string text_of(int code) const;
  // "4.3.4".
  std::string version_text() const;
};

// Throws ConfigError if there is no library, which names its package. Thread-safe.
const ZmqCalls& zmq();

}  // namespace millrace
