#include "millrace/cli/serve/listening_socket.h"

#include <netdb.h>
#include <sys/socket.h>

#include <cerrno>
#include <memory>
#include <utility>

#include "millrace/cli/process/tcp_address.h"
#include "millrace/core/errors.h"
#include "millrace/core/text.h"

namespace millrace::cli {

namespace {

// How many connections may wait until they are taken. The system has a limit of its own.
constexpr int kBacklog = 1024;

using Addresses = std::unique_ptr<addrinfo, void (*)(addrinfo*)>;

Addresses addresses_of(const std::string& host, uint16_t port) {
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  if (const int code = ::getaddrinfo(host.c_str(), cat(port).c_str(), &wanted, &found); code != 0) {
    throw ConfigError(cat("cannot listen at ", quote(host), ": ", ::gai_strerror(code)), {},
                      "give an address of this machine, such as 127.0.0.1, or 0.0.0.0 for all");
  }
  return {found, ::freeaddrinfo};
}

// None if the system refuses it; errno says why.
Descriptor try_to_listen(const addrinfo& at) {
  Descriptor socket(::socket(at.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int yes = 1;
  // A server may begin again while old connections are still being closed.
  const bool listens = socket && ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) == 0 &&
                       ::bind(socket.get(), at.ai_addr, at.ai_addrlen) == 0 && ::listen(socket.get(), kBacklog) == 0;
  if (listens) return socket;
  const int code = errno;
  socket = {};
  errno = code;
  return socket;
}

}  // namespace

ListeningSocket listen_at(const std::string& host, uint16_t port) {
  const Addresses addresses = addresses_of(host, port);
  Descriptor socket;
  // A name may have addresses of a kind that this machine does not use.
  for (const addrinfo* at = addresses.get(); at != nullptr; at = at->ai_next) {
    socket = try_to_listen(*at);
    if (socket || (errno != EAFNOSUPPORT && errno != EADDRNOTAVAIL)) break;
  }
  if (!socket) {
    const int code = errno;
    throw IoError(cat("cannot listen at ", host, ':', port, ": ", errno_text(code)), {},
                  code == EADDRINUSE ? "another program listens there: choose another --port, or 0 for any free one"
                  : code == EACCES   ? "ports below 1024 need a privilege: choose another --port"
                                     : "");
  }
  std::string address = tcp_address(socket.get()).value_or("an unknown address");
  return {std::move(socket), std::move(address)};
}

}  // namespace millrace::cli
