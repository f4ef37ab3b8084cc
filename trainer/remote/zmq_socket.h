// ZeroMQ: libzmq, opened when the first socket needs it. A build needs neither the library nor its headers.
//
//   ZmqContext context;
//   ZmqSocket socket(context, ZmqSocket::Type::dealer);
//   ZmqSocket monitor = socket.monitor(context);
//   socket.connect("tcp://127.0.0.1:5599");
//   zmq_wait(std::array{&socket, &monitor}, -1, std::chrono::seconds(1));
//
// Threads may share a ZmqContext. One thread at a time uses a socket; its monitor, and parts of messages, may be used
// by other threads meanwhile. Sockets are destroyed before their context, in any order.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace millrace {

// Z85 texts of 40 characters.
struct CurveKeys {
  std::string secret, open;
};

// Whether a text has the form of a key, secret or public.
bool is_curve_key(std::string_view text);
// The text of the 32 bytes of a key; empty for other bytes.
std::string curve_key_text(std::string_view bytes);

class ZmqContext {
 public:
  // Throws ConfigError if the library is absent, or older than 4.3.
  explicit ZmqContext(int io_threads = 1);
  // Waits until all sockets are destroyed.
  ~ZmqContext();
  ZmqContext(const ZmqContext&) = delete;
  ZmqContext& operator=(const ZmqContext&) = delete;

  // The library's version: "4.3.4". Throws as the constructor does.
  static std::string version();
  // Both throw ConfigError if the library is absent, or was built without CURVE; public_key() also if `secret` is no
  // key.
  static CurveKeys make_keys();
  static std::string public_key(const std::string& secret);
  void* handle() const { return handle_; }

 private:
  void* handle_ = nullptr;
};

// One part of a message. Move-only.
class ZmqPart {
 public:
  ZmqPart();
  // Takes a text without a copy of its bytes, unless it is very short.
  explicit ZmqPart(std::string bytes);
  ZmqPart(ZmqPart&& other) noexcept;
  ZmqPart& operator=(ZmqPart&& other) noexcept;
  ~ZmqPart();

  std::string_view bytes() const;
  // The address of the peer that sent the part, as "127.0.0.1"; empty if it is not known. The first part that a router
  // gives, the identity, may not know it; those after it do.
  std::string peer() const;

 private:
  friend class ZmqSocket;
  alignas(8) mutable unsigned char message_[64];  // a zmq_msg_t
};

using ZmqParts = std::vector<ZmqPart>;

class ZmqSocket {
 public:
  enum class Type { dealer, router, rep, pair };
  // What happens to the connection of a socket that connects.
  //   ready    the handshake is done
  //   lost     it was ready, and ended; the library connects again, unless the peer broke the protocol
  //   refused  the handshake failed: wrong keys, no place left, or the peer ended. The library may try again or not; to
  //            be sure, make a new socket.
  enum class Event { ready, lost, refused };
  // A connection to a socket that is bound was opened, or ended, whether its handshake was done or not. `number` tells
  // those apart that are open at the same time.
  struct Connection {
    uint32_t number = 0;
    bool open = false;
  };

  // No frame larger than this is sent or received.
  static constexpr size_t kMostFrameBytes = size_t{16} << 20;
  // A connection ends if its handshake takes longer.
  static constexpr std::chrono::seconds kHandshake{10};

  // Heartbeats go every 2 s, and a peer that is silent for 6 s is lost. A frame on its way is silence until it has
  // arrived as a whole, so large frames need a fast link: 1 MiB in 6 s is 1.4 Mbit/s. Reconnects come after 100 ms,
  // later after 5 s. A router does not read from a peer that has 1000 messages waiting, and sends nothing to one that
  // 200 wait for; for others there is no limit, and callers count what they send. Nothing is sent after the destructor.
  //
  // A dealer takes messages only while it is connected, and forgets those that wait when the connection is lost. What
  // it takes at that moment is lost, too. Throws IoError.
  ZmqSocket(ZmqContext& context, Type type);
  ZmqSocket(ZmqSocket&& other) noexcept;
  ZmqSocket& operator=(ZmqSocket&&) = delete;
  ~ZmqSocket();

  // Before bind() or connect(). Peers need the server's public key; a Doorkeeper decides about theirs. Without one,
  // nobody gets in. Throws ConfigError if a key is none, or the library was built without CURVE.
  void be_server(const std::string& secret);
  void be_client(const CurveKeys& own, const std::string& server_public);
  // A server without keys: a Doorkeeper counts its peers. Without one, nobody gets in.
  void be_open_server();

  // Throw IoError with the endpoint and the reason; ConfigError for an endpoint that is none. A name means its IPv4
  // address; IPv6 addresses stand in brackets: "tcp://[::1]:5599". A peer that is not there is no error of connect().
  // With a socket `listening`, which listens at `endpoint` already, it takes connections from that one, and closes it.
  void bind(const std::string& endpoint, int listening = -1);
  void connect(const std::string& endpoint);
  // Where it is bound: "tcp://127.0.0.1:5599".
  std::string endpoint() const;

  // A socket that tells of this socket's connections, and has to be asked: what was not told yet waits in memory.
  // REQUIRES: no bind() or connect() before, and no other monitor.
  ZmqSocket monitor(ZmqContext& context);
  // For the monitor of a socket that connects to one endpoint: the next event, if there is one.
  std::optional<Event> next_event();
  // For the monitor of a socket that is bound: likewise.
  std::optional<Connection> next_connection();

  // Sends all parts as one message, and leaves none; false if it cannot be sent now, or the peer is gone. REQUIRES: a
  // part has at most kMostFrameBytes.
  bool send(ZmqParts&& parts);
  // Replaces `parts` by the next message, if there is one.
  bool receive(ZmqParts& parts);

  void* handle() const { return handle_; }

 private:
  struct Watched;

  ZmqSocket() = default;
  void limit_frames(size_t more);
  // The next thing that a monitor was told, if there is one.
  struct Told {
    uint16_t what = 0;
    uint32_t value = 0;
  };
  std::optional<Told> next_told();

  void* handle_ = nullptr;
  std::shared_ptr<Watched> watched_;  // of a socket with a monitor, and of the monitor: the socket
  bool ready_ = false;                // of a monitor: the last event was `ready`
};

// Waits until one of the sockets, or the descriptor (-1: none), has something to read, or `timeout` is over, or a
// signal has come. A timeout of -1 ms has no end.
void zmq_wait(std::span<ZmqSocket* const> sockets, int descriptor, std::chrono::milliseconds timeout);

}  // namespace millrace
