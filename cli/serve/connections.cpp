#include "millrace/cli/serve/connections.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <string_view>

namespace millrace::cli {

namespace {

constexpr std::chrono::milliseconds kLook{250}, kLookForQuiet{10}, kQuiet{100};
// The library sometimes does not see that a client has closed. It has this long to begin with what it has read.
constexpr std::chrono::milliseconds kGone{1000};

constexpr std::string_view kTooSlow = "HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";

// 0 if the system does not tell.
uint64_t bytes_received(int descriptor) {
  tcp_info info{};
  socklen_t size = sizeof info;
  return ::getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, &info, &size) == 0 ? info.tcpi_bytes_received : 0;
}

}  // namespace

void ClientConnection::enter(State state) noexcept {
  if (state == State::waiting) received_ = bytes_received(descriptor_);
  since_ = Clock::now();
  state_ = state;
}

bool ClientConnection::gets_no_more() const {
  pollfd status{.fd = descriptor_, .events = POLLRDHUP, .revents = 0};
  int unread = 0;
  return ::poll(&status, 1, 0) > 0 && ::ioctl(descriptor_, FIONREAD, &unread) == 0 && unread == 0;
}

bool ClientConnection::has_begun() const { return bytes_received(descriptor_) > received_; }

Connections::Connections(const ConnectionLimits& limits)
    : limits_(limits), thread_([this](const std::stop_token& stop) { watch(stop); }) {}

Connections::~Connections() = default;

ClientConnection* Connections::add(int descriptor) {
  auto made = std::make_unique<ClientConnection>(descriptor);
  ClientConnection* const connection = made.get();
  const MutexLock lock(mutex_);
  all_.emplace(connection, Known{.connection = std::move(made)});
  return connection;
}

void Connections::remove(ClientConnection* connection) noexcept {
  const MutexLock lock(mutex_);
  all_.erase(connection);
}

int64_t Connections::count() const noexcept {
  const MutexLock lock(mutex_);
  return static_cast<int64_t>(all_.size());
}

bool Connections::begin_answer(ClientConnection& connection) noexcept {
  const MutexLock lock(mutex_);
  if (!closed_) connection.enter(ClientConnection::State::answering);
  return !closed_;
}

void Connections::close_when_quiet() noexcept {
  const Clock::time_point since = Clock::now();
  // The system tells nobody when bytes have come, so nobody could wake this thread in time.
  while (!close_if_quiet(since)) std::this_thread::sleep_for(kLookForQuiet);
}

bool Connections::close_if_quiet(Clock::time_point since) noexcept {
  const MutexLock lock(mutex_);
  const Clock::time_point begun = Clock::now() - kQuiet;
  closed_ = since <= begun && std::ranges::all_of(all_, [&](const auto& one) {
              const ClientConnection& connection = *one.first;
              return connection.state_ == ClientConnection::State::waiting && connection.since_.load() <= begun &&
                     !connection.has_begun();
            });
  return closed_;
}

void Connections::watch(const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any ends;  // the token wakes those that wait with it
  std::unique_lock lock(mutex);
  while (!ends.wait_for(lock, stop, kLook, [&] { return stop.stop_requested(); })) close_slow();
}

void Connections::close_slow() {
  using State = ClientConnection::State;
  const Clock::time_point now = Clock::now();
  const MutexLock lock(mutex_);
  for (auto& [connection, known] : all_) {
    const State state = connection->state_;
    Clock::time_point since = connection->since_;
    if (state == State::answering) {
      known.gone = {};
      continue;
    }
    if (state == State::waiting) {
      if (known.waits_since != since) known.waits_since = since, known.begun = {};
      if (known.begun == Clock::time_point() && connection->has_begun()) known.begun = now;
      if (known.begun == Clock::time_point()) continue;
      since = known.begun;
    }
    if (state == State::sending || !connection->gets_no_more()) {
      known.gone = {};
    } else if (known.gone == Clock::time_point()) {
      known.gone = now;
    }
    const bool slow = now - since >= (state == State::sending ? limits_.read : limits_.arrive);
    const bool gone = known.gone != Clock::time_point() && now - known.gone >= kGone;
    if (!slow && !gone) continue;
    if (state != State::sending) {
      // Nothing was sent for this request yet. A client that does not take it is closed without it.
      (void)::send(connection->descriptor_, kTooSlow.data(), kTooSlow.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    }
    ::shutdown(connection->descriptor_, SHUT_RDWR);
  }
}

}  // namespace millrace::cli
