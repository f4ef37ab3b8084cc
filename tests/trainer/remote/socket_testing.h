// What tests of sockets wait for, and a peer that speaks bytes of its own instead of ZeroMQ.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "millrace/core/clock.h"
#include "millrace/core/descriptor.h"
#include "millrace/trainer/remote/zmq_socket.h"

namespace millrace::test {

inline constexpr std::chrono::seconds kPatience{60};

// Waits until `done` returns true, and asks it again whenever `socket` has something to read, and now and then. False
// if that takes too long.
template <class Done>
bool wait_until(ZmqSocket& socket, const Done& done) {
  const Clock::time_point end = Clock::now() + kPatience;
  while (!done()) {
    if (Clock::now() > end) return false;
    zmq_wait(std::array{&socket}, -1, std::chrono::milliseconds(20));
  }
  return true;
}

// The next event of a monitor; none if it takes too long.
inline std::optional<ZmqSocket::Event> next_event(ZmqSocket& monitor) {
  std::optional<ZmqSocket::Event> out;
  EXPECT_TRUE(wait_until(monitor, [&] { return (out = monitor.next_event()).has_value(); })) << "no event came";
  return out;
}

// The texts of the next message; empty if it takes too long.
inline std::vector<std::string> next_message(ZmqSocket& socket) {
  ZmqParts parts;
  EXPECT_TRUE(wait_until(socket, [&] { return socket.receive(parts); })) << "no message came";
  std::vector<std::string> out;
  for (const ZmqPart& part : parts) out.emplace_back(part.bytes());
  return out;
}

inline ZmqParts message(const std::vector<std::string>& texts) {
  ZmqParts out;
  for (const std::string& text : texts) out.emplace_back(text);
  return out;
}

// A connection to "tcp://127.0.0.1:PORT".
class RawPeer {
 public:
  // `from`: the address that it comes from.
  explicit RawPeer(const std::string& endpoint, const char* from = "127.0.0.1")
      : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in own = {}, to = {};
    own.sin_family = to.sin_family = AF_INET;
    to.sin_port = htons(static_cast<uint16_t>(std::stoi(endpoint.substr(endpoint.rfind(':') + 1))));
    inet_pton(AF_INET, from, &own.sin_addr);
    inet_pton(AF_INET, "127.0.0.1", &to.sin_addr);
    EXPECT_EQ(::bind(socket_.get(), reinterpret_cast<const sockaddr*>(&own), sizeof own), 0);
    EXPECT_EQ(::connect(socket_.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to), 0);
  }

  // False if the other end has closed the connection.
  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent < 0) return false;
      bytes.remove_prefix(static_cast<size_t>(sent));
    }
    return true;
  }
  // Reads until `text` has come; false if the other end closed the connection before.
  bool wait_for(std::string_view text) {
    while (got_.find(text) == got_.npos) {
      std::array<char, 4096> bytes;
      pollfd wanted = {socket_.get(), POLLIN, 0};
      const auto patience = std::chrono::milliseconds(kPatience).count();
      if (::poll(&wanted, 1, static_cast<int>(patience)) <= 0) return false;
      const ssize_t count = ::recv(socket_.get(), bytes.data(), bytes.size(), 0);
      if (count <= 0) {
        closed_ = true;
        return false;
      }
      got_.append(bytes.data(), static_cast<size_t>(count));
    }
    return true;
  }
  // Reads until the other end closes the connection.
  bool wait_for_end() {
    wait_for("no text that a peer sends");
    return closed_;
  }

  // The beginning of a connection without keys: the greeting of ZMTP 3.1, and the command READY of a dealer.
  bool shake_hands() { return send(greeting("NULL")) && send(command("\5READY\13Socket-Type" + counted("DEALER"))); }
  static std::string greeting(std::string_view mechanism) {
    std::string out("\xff\0\0\0\0\0\0\0\1\x7f\3\1", 12);
    out += mechanism;
    out.resize(64);
    return out;
  }
  static std::string command(const std::string& body) {
    return std::string("\4") + static_cast<char>(body.size()) + body;
  }
  // A frame of a message: its beginning, which says how long it is.
  static std::string frame(uint64_t bytes, bool more = false) {
    std::string out(1, more ? '\3' : '\2');
    for (int shift = 56; shift >= 0; shift -= 8) out += static_cast<char>(bytes >> shift);
    return out;
  }

 private:
  static std::string counted(const std::string& value) {
    return std::string(3, '\0') + static_cast<char>(value.size()) + value;
  }

  Descriptor socket_;
  std::string got_;
  bool closed_ = false;
};

}  // namespace millrace::test
