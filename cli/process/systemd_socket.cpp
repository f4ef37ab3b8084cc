#include "millrace/cli/process/systemd_socket.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <string_view>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"

namespace millrace::cli {

namespace {

// What sd_listen_fds(3) describes.
constexpr int kFirstOfSystemd = 3;

[[noreturn]] void fail(std::string_view why) {
  throw ConfigError(cat("cannot use the socket of systemd: ", why), {},
                    "start the service by a .socket unit with one ListenStream=ADDRESS:PORT");
}

std::string_view variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

SystemdSocket systemd_socket() {
  if (variable("LISTEN_PID") != cat(::getpid())) fail("this process got none");
  if (variable("LISTEN_FDS") != "1") fail(cat("expected one, got ", variable("LISTEN_FDS")));

  sockaddr_storage address{};
  socklen_t size = sizeof address;
  auto* const named = reinterpret_cast<sockaddr*>(&address);
  std::array<char, NI_MAXHOST> host{};
  std::array<char, NI_MAXSERV> port{};
  int listens = 0;
  socklen_t listens_size = sizeof listens;
  if (::getsockname(kFirstOfSystemd, named, &size) != 0) fail(errno_text(errno));
  const bool is_tcp = address.ss_family == AF_INET || address.ss_family == AF_INET6;
  if (!is_tcp || ::getsockopt(kFirstOfSystemd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &listens_size) != 0 ||
      listens == 0 ||
      ::getnameinfo(named, size, host.data(), host.size(), port.data(), port.size(), NI_NUMERICHOST | NI_NUMERICSERV) !=
          0) {
    fail("it does not listen for TCP");
  }
  ::fcntl(kFirstOfSystemd, F_SETFD, FD_CLOEXEC);
  ::fcntl(kFirstOfSystemd, F_SETFL, O_NONBLOCK);
  const bool is_6 = address.ss_family == AF_INET6;
  return {.descriptor = kFirstOfSystemd,
          .endpoint = cat("tcp://", is_6 ? "[" : "", host.data(), is_6 ? "]:" : ":", port.data())};
}

}  // namespace millrace::cli
