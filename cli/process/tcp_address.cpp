#include "millrace/cli/process/tcp_address.h"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>

#include "millrace/core/text.h"

namespace millrace::cli {

std::optional<std::string> tcp_address(int descriptor) {
  sockaddr_storage address{};
  socklen_t size = sizeof address, type_size = sizeof(int);
  auto* const named = reinterpret_cast<sockaddr*>(&address);
  int type = 0;
  if (::getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &type, &type_size) != 0 || type != SOCK_STREAM) return {};
  if (::getsockname(descriptor, named, &size) != 0) return {};
  const bool is_6 = address.ss_family == AF_INET6;
  if (!is_6 && address.ss_family != AF_INET) return {};
  std::array<char, NI_MAXHOST> host{};
  std::array<char, NI_MAXSERV> port{};
  constexpr int kNumbers = NI_NUMERICHOST | NI_NUMERICSERV;
  if (::getnameinfo(named, size, host.data(), host.size(), port.data(), port.size(), kNumbers) != 0) return {};
  return cat(is_6 ? "[" : "", host.data(), is_6 ? "]:" : ":", port.data());
}

}  // namespace millrace::cli
