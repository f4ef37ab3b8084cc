// A socket that systemd listens with for a service: it begins before the service, and stays when the service ends.
#pragma once

#include <string>

namespace millrace::cli {

struct SystemdSocket {
  int descriptor = -1;
  std::string endpoint;  // where it listens: "tcp://0.0.0.0:5599"
};

// The one that this process was started with. Throws ConfigError unless there is one, of TCP. To be called once.
SystemdSocket systemd_socket();

}  // namespace millrace::cli
