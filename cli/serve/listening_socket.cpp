#include "millrace/cli/serve/listening_socket.h"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <memory>

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

std::string address_text(int descriptor) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  auto* const named = reinterpret_cast<sockaddr*>(&address);
  std::array<char, NI_MAXHOST> host{};
  std::array<char, NI_MAXSERV> port{};
  if (::getsockname(descriptor, named, &size) != 0 ||
      ::getnameinfo(named, size, host.data(), host.size(), port.data(), port.size(), NI_NUMERICHOST | NI_NUMERICSERV) !=
          0) {
    return "an unknown address";
  }
  const bool is_6 = address.ss_family == AF_INET6;
  return cat(is_6 ? "[" : "", host.data(), is_6 ? "]:" : ":", port.data());
}

}  // namespace

ListeningSocket listen_at(const std::string& host, uint16_t port) {
  const Addresses addresses = addresses_of(host, port);
  const addrinfo& first = *addresses;
  Descriptor socket(::socket(first.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int yes = 1;
  // A server may begin again while old connections are still being closed.
  const bool listens = socket && ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) == 0 &&
                       ::bind(socket.get(), first.ai_addr, first.ai_addrlen) == 0 &&
                       ::listen(socket.get(), kBacklog) == 0;
  if (!listens) {
    const int code = errno;
    throw IoError(cat("cannot listen at ", host, ':', port, ": ", errno_text(code)), {},
                  code == EADDRINUSE ? "another program listens there: choose another --port, or 0 for any free one"
                  : code == EACCES   ? "ports below 1024 need a privilege: choose another --port"
                                     : "");
  }
  std::string address = address_text(socket.get());
  return {std::move(socket), std::move(address)};
}

}  // namespace millrace::cli
