// What a client of a server in the same test does.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <string>
#include <string_view>

#include "millrace/core/descriptor.h"

namespace millrace::cli {

// A connection to the port of this machine that an address ends with: "127.0.0.1:8080".
inline Descriptor connect_to(const std::string& address) {
  Descriptor out(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<uint16_t>(std::stoi(address.substr(address.rfind(':') + 1))));
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(out.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0) out = {};
  return out;
}

// Sends all, and reads until the server closes.
inline std::string ask(const Descriptor& connection, std::string_view request) {
  while (!request.empty()) {
    const ssize_t sent = ::send(connection.get(), request.data(), request.size(), MSG_NOSIGNAL);
    if (sent <= 0) break;
    request.remove_prefix(static_cast<size_t>(sent));
  }
  std::string out;
  std::array<char, 4096> piece{};
  for (ssize_t size = 1; size > 0;) {
    size = ::recv(connection.get(), piece.data(), piece.size(), 0);
    if (size > 0) out.append(piece.data(), static_cast<size_t>(size));
  }
  return out;
}

}  // namespace millrace::cli
