#include "millrace/cli/process/systemd_socket.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>

#include "millrace/core/descriptor.h"
#include "millrace/core/errors.h"
#include "millrace/core/text.h"

namespace millrace::cli {
namespace {

// A child of the test has the socket as systemd passes it, and says what it finds.
class SystemdSocketTest : public ::testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }

  [[noreturn]] static void find(int type, const char* count, bool listens) {
    const Descriptor made(::socket(AF_INET, type, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ::bind(made.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
    if (listens) ::listen(made.get(), 1);
    socklen_t size = sizeof address;
    ::getsockname(made.get(), reinterpret_cast<sockaddr*>(&address), &size);
    ::dup2(made.get(), 3);
    ::setenv("LISTEN_PID", cat(::getpid()).c_str(), 1);
    ::setenv("LISTEN_FDS", count, 1);
    try {
      const SystemdSocket found = systemd_socket();
      const std::string expected = cat("tcp://127.0.0.1:", ntohs(address.sin_port));
      std::cerr << found.descriptor << ' ' << (found.endpoint == expected ? "is right" : found.endpoint) << '\n';
    } catch (const ConfigError& error) {
      std::cerr << error.what() << '\n';
    }
    ::_exit(0);
  }
};

TEST_F(SystemdSocketTest, IsTheOneThatListens) {
  const auto ends = testing::ExitedWithCode(0);
  EXPECT_EXIT(find(SOCK_STREAM, "1", true), ends, "3 is right");
  EXPECT_EXIT(find(SOCK_STREAM, "2", true), ends, "cannot use the socket of systemd: expected one, got 2");
  EXPECT_EXIT(find(SOCK_STREAM, "1", false), ends, "it does not listen for TCP");
  EXPECT_EXIT(find(SOCK_DGRAM, "1", false), ends, "it does not listen for TCP");
}

TEST_F(SystemdSocketTest, BelongsToOneProcess) {
  ::setenv("LISTEN_PID", "1", 1);
  EXPECT_THROW(systemd_socket(), ConfigError);
  ::unsetenv("LISTEN_PID");
  EXPECT_THROW(systemd_socket(), ConfigError);
}

}  // namespace
}  // namespace millrace::cli
