// Connections: the connections of a server, what each is doing, and since when. A thread closes those whose requests
// take too long to arrive, or whose answers take too long to be read; the library that serves them knows only how long
// a connection was silent, and a client may send a byte now and then.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <thread>
#include <unordered_map>

#include "millrace/core/clock.h"
#include "millrace/core/threads/mutex.h"

namespace millrace::cli {

class ClientConnection {
 public:
  // `waiting`: no request, or not all of its head; `reading`: its body; `answering`: nothing is expected of the client.
  enum class State : uint8_t { waiting, reading, answering, sending };

  explicit ClientConnection(int descriptor) : descriptor_(descriptor) {}
  // To be called by one thread at a time. Not for `answering`, which Connections::begin_answer() enters.
  void enter(State state) noexcept;

 private:
  friend class Connections;
  bool has_begun() const;     // whether bytes came since it waits
  bool gets_no_more() const;  // whether the client sends no more, and all that it sent was read

  const int descriptor_;
  std::atomic<State> state_{State::waiting};
  std::atomic<Clock::time_point> since_{Clock::now()};
  std::atomic<uint64_t> received_{0};  // bytes that had come when it began to wait
};

struct ConnectionLimits {
  std::chrono::milliseconds arrive;  // for a head, and for a body
  std::chrono::milliseconds read;    // for an answer to be read
};

class Connections {
 public:
  explicit Connections(const ConnectionLimits& limits);
  ~Connections();

  // The connection is there, until it is removed.
  ClientConnection* add(int descriptor);
  void remove(ClientConnection* connection) noexcept;
  int64_t count() const noexcept;
  // The connection's request is going to be answered by another thread. False: close_when_quiet() has returned, so
  // nothing may begin, and the connection keeps its state.
  [[nodiscard]] bool begin_answer(ClientConnection& connection) noexcept;
  // Waits until no connection has had a request under way for a moment, in which those that were accepted just before
  // become known, and busy clients learn from their next answer that there are no more. No answer begins after that.
  void close_when_quiet() noexcept;

 private:
  void watch(const std::stop_token& stop);
  void close_slow();
  bool close_if_quiet(Clock::time_point since) noexcept;

  const ConnectionLimits limits_;
  struct Known {
    std::unique_ptr<ClientConnection> connection;
    // Since when it waits, and when it was seen that its next request has begun to arrive.
    Clock::time_point waits_since = {}, begun = {};
    Clock::time_point gone = {};  // when it was seen that its client sends no more
  };
  mutable Mutex mutex_;
  std::unordered_map<ClientConnection*, Known> all_ MILLRACE_GUARDED_BY(mutex_);
  bool closed_ MILLRACE_GUARDED_BY(mutex_) = false;
  std::jthread thread_;
};

}  // namespace millrace::cli
