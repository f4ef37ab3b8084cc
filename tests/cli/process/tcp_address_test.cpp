#include "millrace/cli/process/tcp_address.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "millrace/core/descriptor.h"
#include "millrace/core/text.h"

namespace millrace::cli {
namespace {

TEST(TcpAddress, IsWhereASocketIsBound) {
  const Descriptor socket(::socket(AF_INET, SOCK_STREAM, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ASSERT_EQ(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), size), 0);
  ASSERT_EQ(::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
  EXPECT_EQ(tcp_address(socket.get()), cat("127.0.0.1:", ntohs(address.sin_port)));
}

TEST(TcpAddress, PutsBracketsAroundTheNewerKind) {
  const Descriptor socket(::socket(AF_INET6, SOCK_STREAM, 0));
  if (!socket) GTEST_SKIP() << "the system has no IPv6";
  EXPECT_EQ(tcp_address(socket.get()), "[::]:0");
}

TEST(TcpAddress, IsOfTcpOnly) {
  const Descriptor datagrams(::socket(AF_INET, SOCK_DGRAM, 0)), local(::socket(AF_UNIX, SOCK_STREAM, 0));
  EXPECT_EQ(tcp_address(datagrams.get()), std::nullopt);
  EXPECT_EQ(tcp_address(local.get()), std::nullopt);
  EXPECT_EQ(tcp_address(-1), std::nullopt);
}

}  // namespace
}  // namespace millrace::cli
