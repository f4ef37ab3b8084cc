#include "millrace/cli/process/systemd_socket.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "millrace/cli/process/tcp_address.h"
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

  int listens = 0;
  socklen_t size = sizeof listens;
  if (::getsockopt(kFirstOfSystemd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) != 0) fail(errno_text(errno));
  const std::optional<std::string> address = tcp_address(kFirstOfSystemd);
  if (listens == 0 || !address) fail("it does not listen for TCP");
  ::fcntl(kFirstOfSystemd, F_SETFD, FD_CLOEXEC);
  ::fcntl(kFirstOfSystemd, F_SETFL, O_NONBLOCK);
  return {.descriptor = kFirstOfSystemd, .endpoint = "tcp://" + *address};
}

}  // namespace millrace::cli
