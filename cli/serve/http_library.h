// mhd(): libmicrohttpd, opened when it is first needed. A build needs neither the library nor its headers.
#pragma once

#include <sys/socket.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "millrace/core/shared_library.h"

namespace millrace::cli {

// What libmicrohttpd 0.9.73 and later have, as far as it is called here. A daemon, a connection and a response are
// pointers to types of the library.
struct MhdCalls {
  // MHD_FLAG
  static constexpr unsigned kInternalThread = 8, kEpoll = 512, kTurbo = 4096, kSuspend = 8192 | 1024;
  // MHD_OPTION
  enum Option : int {
    kEnd = 0,
    kConnectionMemory = 1,
    kConnectionLimit = 2,
    kConnectionTimeout = 3,
    kNotifyCompleted = 4,
    kListenSocket = 12,
    kThreadPool = 14,
    kOptions = 15,
    kNotifyConnection = 27,
    kStrict = 29,
  };
  struct OptionItem {
    Option option;
    intptr_t value;
    void* pointer;
  };
  // MHD_ConnectionInfoType
  static constexpr int kDescriptor = 6, kSocketContext = 7;
  static constexpr int kHeaders = 1, kArguments = 8;  // MHD_ValueKind
  static constexpr int kStaysInMemory = 0;            // MHD_ResponseMemoryMode
  static constexpr int kStarted = 0;                  // MHD_ConnectionNotificationCode
  static constexpr int kNo = 0, kYes = 1;

  using Handler = int (*)(void* context, void* connection, const char* url, const char* method, const char* version,
                          const char* data, size_t* size, void** request);
  using Completed = void (*)(void* context, void* connection, void** request, int how);
  using Notified = void (*)(void* context, void* connection, void** socket_context, int what);

 private:
  SharedLibrary library_;

 public:
  // Throws ConfigError if there is no library, or an older one.
  MhdCalls();
  // Whether a library of this version, such as "0.9.75", is too old.
  static bool is_too_old(const char* version);

  const char* (*version)() = library_.named("MHD_get_version");
  void* (*start)(unsigned flags, uint16_t port, void* accept, void* accept_context, Handler handler, void* context,
                 ...) = library_.named("MHD_start_daemon");
  int (*quiesce)(void* daemon) = library_.named("MHD_quiesce_daemon");
  void (*stop)(void* daemon) = library_.named("MHD_stop_daemon");
  int (*add_connection)(void* daemon, int descriptor, const sockaddr* address,
                        socklen_t size) = library_.named("MHD_add_connection");

  const void* (*info)(void* connection, int type, ...) = library_.named("MHD_get_connection_info");
  const char* (*header)(void* connection, int kind, const char* name) = library_.named("MHD_lookup_connection_value");
  int (*headers)(void* connection, int kind, int (*each)(void*, int, const char*, const char*),
                 void* context) = library_.named("MHD_get_connection_values");
  void (*suspend)(void* connection) = library_.named("MHD_suspend_connection");
  void (*resume)(void* connection) = library_.named("MHD_resume_connection");

  void* (*make_response)(size_t size, void* data, int mode) = library_.named("MHD_create_response_from_buffer");
  int (*add_header)(void* response, const char* name, const char* value) = library_.named("MHD_add_response_header");
  int (*queue)(void* connection, unsigned status, void* response) = library_.named("MHD_queue_response");
  void (*drop)(void* response) = library_.named("MHD_destroy_response");
};

// Throws ConfigError if there is no library, which names its package. Thread-safe.
const MhdCalls& mhd();

}  // namespace millrace::cli
