// A socket that listens for TCP.
#pragma once

#include <cstdint>
#include <string>

#include "millrace/core/descriptor.h"

namespace millrace::cli {

struct ListeningSocket {
  Descriptor descriptor;
  std::string address;  // "127.0.0.1:8080", "[::1]:8080"
};

// Listens at the port of a host, which is a name or an address; port 0 takes any free one. Throws ConfigError for a
// host that is not known, IoError for what the system refuses, such as a port that is taken.
ListeningSocket listen_at(const std::string& host, uint16_t port);

}  // namespace millrace::cli
