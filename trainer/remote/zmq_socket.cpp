#include "millrace/trainer/remote/zmq_socket.h"

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <new>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "millrace/core/threads/mutex.h"
#include "millrace/trainer/remote/zmq_library.h"

namespace millrace {

namespace {

// The numbers of zmq.h, as far as they are used here.
enum ZmqOption : int {
  kEvents = 15,
  kLinger = 17,
  kReconnectAfter = 18,
  kReconnectAtMost = 21,
  kMostBytes = 22,
  kMostToSend = 23,
  kMostReceived = 24,
  kLastEndpoint = 32,
  kRouterMandatory = 33,
  kOnlyConnected = 39,  // ZMQ_IMMEDIATE
  kIpv6 = 42,
  kCurveServer = 47,
  kCurvePublicKey = 48,
  kCurveSecretKey = 49,
  kCurveServerKey = 50,
  kZapDomain = 55,
  kHandshakeWithin = 66,
  kHeartbeatEvery = 75,
  kHeartbeatTtl = 76,
  kHeartbeatWithin = 77,
  kConnectWithin = 79,
  kUseDescriptor = 89,
  kZapRequired = 93,  // ZMQ_ZAP_ENFORCE_DOMAIN
};
constexpr int kIoThreads = 1;
constexpr int kDontWait = 1, kSendMore = 2;
constexpr short kPollIn = 1;

// What a monitor is told.
enum ZmqTold : uint16_t {
  kAccepted = 0x20,
  kDisconnected = 0x200,
  kFailed = 0x800,
  kSucceeded = 0x1000,
  kFailedProtocol = 0x2000,
  kFailedAuth = 0x4000,
};
constexpr int kAllTold = kAccepted | kDisconnected | kFailed | kSucceeded | kFailedProtocol | kFailedAuth;

constexpr size_t kKeyText = 40;
// Encryption makes a frame longer by so many bytes.
constexpr size_t kEncryptedMore = 33;
// Texts that a zmq_msg_t has a place for in itself.
constexpr size_t kSmallText = 32;
constexpr int kMostWaitingOfPeer = 1000, kMostWaitingForPeer = 200;

constexpr char kNoCurveHint[] = "use a libzmq that was built with libsodium";

// Every option that is set by these is known to 4.3.
void set_number(void* socket, ZmqOption option, int value) {
  if (zmq().set(socket, option, &value, sizeof value) == 0) return;
  throw InternalError(cat("libzmq refuses its option ", static_cast<int>(option), ": ", zmq().text_of(errno)));
}

void set_key(void* socket, ZmqOption option, const std::string& key) {
  if (!is_curve_key(key)) throw ConfigError("expected a key, 40 characters of Z85");
  if (zmq().set(socket, option, key.data(), key.size()) == 0) return;
  throw ConfigError("libzmq was built without CURVE, so it has no keys", {}, kNoCurveHint);
}

// Peers are asked about, and refused as long as nobody answers.
void ask_about_peers(void* socket) {
  constexpr std::string_view kDomain = "millrace";
  zmq().set(socket, kZapDomain, kDomain.data(), kDomain.size());
  set_number(socket, kZapRequired, 1);
}

[[noreturn]] void fail_at_endpoint(std::string_view what, const std::string& endpoint, int code) {
  const std::string begin = cat("cannot ", what, ' ', quote(endpoint, 300), ": ");
  if (code == EINVAL || code == EPROTONOSUPPORT || code == ZmqCalls::kNoProtocol || code == ENAMETOOLONG) {
    throw ConfigError(cat(begin, "expected an endpoint"), {}, "write it as tcp://HOST:PORT");
  }
  if (code == ENODEV || code == EADDRNOTAVAIL) {
    throw IoError(cat(begin, "it is no address of this machine"), {},
                  "give the address of one of its interfaces, or 0.0.0.0 for all");
  }
  throw IoError(cat(begin, zmq().text_of(code)), {},
                code == EADDRINUSE ? "another program listens there; give another port" : "");
}

// libzmq takes what a port is too large by, and the IPv6 address of a name that has one, also if the peer listens to
// IPv4 only.
void prepare_for(void* socket, std::string_view what, const std::string& endpoint) {
  const std::string port = endpoint.substr(endpoint.rfind(':') + 1);
  const bool is_number = !port.empty() && port.find_first_not_of("0123456789") == port.npos;
  if (is_number && (port.size() > 5 || std::stoi(port) > UINT16_MAX)) fail_at_endpoint(what, endpoint, EINVAL);
  set_number(socket, kIpv6, endpoint.find('[') != endpoint.npos ? 1 : 0);
}

int type_number(ZmqSocket::Type type) {
  switch (type) {
    case ZmqSocket::Type::pair: return 0;
    case ZmqSocket::Type::rep: return 4;
    case ZmqSocket::Type::dealer: return 5;
    case ZmqSocket::Type::router: break;
  }
  return 6;
}

void free_text(void* /*bytes*/, void* text) { delete static_cast<std::string*>(text); }

}  // namespace

bool is_curve_key(std::string_view text) {
  constexpr std::string_view kDigits =
      "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#";
  if (text.size() != kKeyText) return false;
  uint64_t value = 0;  // of five digits, which stand for four bytes
  for (size_t i = 0; i < text.size(); ++i) {
    const size_t digit = kDigits.find(text[i]);
    if (digit == kDigits.npos) return false;
    value = (i % 5 == 0 ? 0 : value * 85) + digit;
    if (value > UINT32_MAX) return false;
  }
  return true;
}

std::string curve_key_text(std::string_view bytes) {
  std::array<uint8_t, kKeyText / 5 * 4> key{};
  std::array<char, kKeyText + 1> text{};
  if (bytes.size() != key.size()) return {};
  std::memcpy(key.data(), bytes.data(), key.size());
  return zmq().z85(text.data(), key.data(), key.size());
}

ZmqContext::ZmqContext(int io_threads) : handle_(zmq().make_context()) {
  if (handle_ == nullptr) throw IoError(cat("cannot start ZeroMQ: ", zmq().text_of(errno)));
  zmq().set_context(handle_, kIoThreads, io_threads);
}

ZmqContext::~ZmqContext() {
  while (zmq().end_context(handle_) != 0 && errno == EINTR) {
  }
}

std::string ZmqContext::version() { return zmq().version_text(); }

CurveKeys ZmqContext::make_keys() {
  std::array<char, kKeyText + 1> open{}, secret{};
  if (zmq().make_keys(open.data(), secret.data()) != 0) {
    throw ConfigError("libzmq was built without CURVE, so it makes no keys", {}, kNoCurveHint);
  }
  return {.secret = secret.data(), .open = open.data()};
}

std::string ZmqContext::public_key(const std::string& secret) {
  std::array<char, kKeyText + 1> open{};
  if (!is_curve_key(secret)) throw ConfigError("expected a key, 40 characters of Z85");
  if (zmq().public_key(open.data(), secret.c_str()) != 0) {
    throw ConfigError("libzmq was built without CURVE, so it has no keys", {}, kNoCurveHint);
  }
  return open.data();
}

ZmqPart::ZmqPart() { zmq().empty(message_); }

ZmqPart::ZmqPart(std::string bytes) {
  if (bytes.size() <= kSmallText) {
    if (zmq().allocate(message_, bytes.size()) != 0) throw std::bad_alloc();
    std::memcpy(zmq().data(message_), bytes.data(), bytes.size());
    return;
  }
  auto text = std::make_unique<std::string>(std::move(bytes));
  if (zmq().wrap(message_, text->data(), text->size(), free_text, text.get()) != 0) throw std::bad_alloc();
  (void)text.release();
}

ZmqPart::ZmqPart(ZmqPart&& other) noexcept : ZmqPart() { zmq().move(message_, other.message_); }

ZmqPart& ZmqPart::operator=(ZmqPart&& other) noexcept {
  if (this != &other) zmq().move(message_, other.message_);
  return *this;
}

ZmqPart::~ZmqPart() { zmq().drop(message_); }

std::string_view ZmqPart::bytes() const {
  return {static_cast<const char*>(zmq().data(message_)), zmq().size(message_)};
}

std::string ZmqPart::peer() const {
  const char* const address = zmq().property(message_, "Peer-Address");
  return address == nullptr ? "" : address;
}

// libzmq's own thread would wait for ever if it told something to a monitor that is gone, so whichever of the two is
// destroyed first ends the telling.
struct ZmqSocket::Watched {
  Mutex mutex;
  void* socket MILLRACE_GUARDED_BY(mutex) = nullptr;

  void stop() noexcept {
    const MutexLock lock(mutex);
    if (socket != nullptr) zmq().monitor(socket, nullptr, 0);
    socket = nullptr;
  }
};

ZmqSocket::ZmqSocket(ZmqContext& context, Type type) : handle_(zmq().make_socket(context.handle(), type_number(type))) {
  if (handle_ == nullptr) throw IoError(cat("cannot make a socket of ZeroMQ: ", zmq().text_of(errno)));
  constexpr int kHandshakeMs = std::chrono::milliseconds(kHandshake).count();
  set_number(handle_, kLinger, 0);
  set_number(handle_, kHandshakeWithin, kHandshakeMs);
  set_number(handle_, kHeartbeatEvery, 2000);
  set_number(handle_, kHeartbeatWithin, 6000);
  set_number(handle_, kHeartbeatTtl, 6000);
  set_number(handle_, kConnectWithin, 5000);
  set_number(handle_, kReconnectAfter, 100);
  set_number(handle_, kReconnectAtMost, 5000);
  set_number(handle_, kMostToSend, type == Type::router ? kMostWaitingForPeer : 0);
  set_number(handle_, kMostReceived, type == Type::router ? kMostWaitingOfPeer : 0);
  if (type == Type::router) set_number(handle_, kRouterMandatory, 1);
  if (type == Type::dealer) set_number(handle_, kOnlyConnected, 1);
  limit_frames(0);
}

ZmqSocket::ZmqSocket(ZmqSocket&& other) noexcept
    : handle_(std::exchange(other.handle_, nullptr)), watched_(std::move(other.watched_)), ready_(other.ready_) {}

ZmqSocket::~ZmqSocket() {
  if (watched_ != nullptr) watched_->stop();
  if (handle_ != nullptr) zmq().close(handle_);
}

// The library counts the bytes of encryption, too.
void ZmqSocket::limit_frames(size_t more) {
  const auto most = static_cast<int64_t>(kMostFrameBytes + more);
  zmq().set(handle_, kMostBytes, &most, sizeof most);
}

void ZmqSocket::be_server(const std::string& secret) {
  set_key(handle_, kCurveSecretKey, secret);
  set_number(handle_, kCurveServer, 1);
  limit_frames(kEncryptedMore);
  ask_about_peers(handle_);
}

void ZmqSocket::be_client(const CurveKeys& own, const std::string& server_public) {
  set_key(handle_, kCurveServerKey, server_public);
  set_key(handle_, kCurvePublicKey, own.open);
  set_key(handle_, kCurveSecretKey, own.secret);
  limit_frames(kEncryptedMore);
}

void ZmqSocket::be_open_server() { ask_about_peers(handle_); }

void ZmqSocket::bind(const std::string& endpoint, int listening) {
  constexpr std::string_view kWhat = "listen at";
  prepare_for(handle_, kWhat, endpoint);
  if (listening >= 0) set_number(handle_, kUseDescriptor, listening);
  if (zmq().bind(handle_, endpoint.c_str()) != 0) fail_at_endpoint(kWhat, endpoint, errno);
}

void ZmqSocket::connect(const std::string& endpoint) {
  constexpr std::string_view kWhat = "connect to";
  prepare_for(handle_, kWhat, endpoint);
  if (zmq().connect(handle_, endpoint.c_str()) != 0) fail_at_endpoint(kWhat, endpoint, errno);
}

std::string ZmqSocket::endpoint() const {
  std::array<char, 256> text{};
  size_t size = text.size();
  return zmq().get(handle_, kLastEndpoint, text.data(), &size) == 0 ? text.data() : "";
}

ZmqSocket ZmqSocket::monitor(ZmqContext& context) {
  static std::atomic<uint64_t> monitors = 0;
  const std::string endpoint = cat("inproc://millrace-monitor-", ++monitors);
  ZmqSocket out(context, Type::pair);
  if (zmq().monitor(handle_, endpoint.c_str(), kAllTold) != 0) fail_at_endpoint("monitor by", endpoint, errno);
  watched_ = std::make_shared<Watched>();
  {
    const MutexLock lock(watched_->mutex);
    watched_->socket = handle_;
  }
  out.watched_ = watched_;
  out.connect(endpoint);
  return out;
}

std::optional<ZmqSocket::Told> ZmqSocket::next_told() {
  Told told;
  ZmqParts parts;
  if (!receive(parts)) return {};
  const std::string_view bytes = parts[0].bytes();
  if (bytes.size() != sizeof told.what + sizeof told.value) return Told();
  std::memcpy(&told.what, bytes.data(), sizeof told.what);
  std::memcpy(&told.value, bytes.data() + sizeof told.what, sizeof told.value);
  return told;
}

std::optional<ZmqSocket::Event> ZmqSocket::next_event() {
  while (const std::optional<Told> told = next_told()) {
    const bool was_ready = std::exchange(ready_, told->what == kSucceeded);
    switch (told->what) {
      case kSucceeded: return Event::ready;
      case kFailed:
      case kFailedProtocol:
      case kFailedAuth: return Event::refused;
      case kDisconnected:
        if (was_ready) return Event::lost;
        break;
      default: break;
    }
  }
  return {};
}

std::optional<ZmqSocket::Connection> ZmqSocket::next_connection() {
  while (const std::optional<Told> told = next_told()) {
    if (told->what != kAccepted && told->what != kDisconnected) continue;
    return Connection{.number = told->value, .open = told->what == kAccepted};
  }
  return {};
}

bool ZmqSocket::send(ZmqParts&& parts) {
  bool sent = true;
  for (size_t i = 0; i < parts.size(); ++i) {
    const int flags = i + 1 < parts.size() ? kDontWait | kSendMore : kDontWait;
    for (bool again = true; zmq().send(parts[i].message_, handle_, flags) < 0;) {
      const int code = errno;
      if (code == EINTR) continue;
      // The library looks for new connections only now and then, but always when it is asked for events.
      if (code == EAGAIN && i == 0 && std::exchange(again, false)) {
        int events = 0;
        size_t size = sizeof events;
        zmq().get(handle_, kEvents, &events, &size);
        continue;
      }
      if (code != EAGAIN && code != EHOSTUNREACH && code != ZmqCalls::kTerminated) {
        throw IoError(cat("cannot send: ", zmq().text_of(code)));
      }
      if (i == 0) return false;
      // The peer has gone meanwhile. The library drops the parts that follow.
      sent = false;
      break;
    }
  }
  parts.clear();
  return sent;
}

bool ZmqSocket::receive(ZmqParts& parts) {
  parts.clear();
  do {
    ZmqPart part;
    while (zmq().receive(part.message_, handle_, kDontWait) < 0) {
      if (errno == EINTR) continue;
      if (errno == EAGAIN || errno == ZmqCalls::kTerminated) return false;
      throw IoError(cat("cannot receive: ", zmq().text_of(errno)));
    }
    parts.push_back(std::move(part));
  } while (zmq().has_more(parts.back().message_) != 0);
  return true;
}

void zmq_wait(std::span<ZmqSocket* const> sockets, int descriptor, std::chrono::milliseconds timeout) {
  std::vector<ZmqCalls::PollItem> items;
  for (ZmqSocket* const socket : sockets) items.push_back({socket->handle(), 0, kPollIn, 0});
  if (descriptor >= 0) items.push_back({nullptr, descriptor, kPollIn, 0});
  zmq().poll(items.data(), static_cast<int>(items.size()), static_cast<long>(timeout.count()));
}

}  // namespace millrace
