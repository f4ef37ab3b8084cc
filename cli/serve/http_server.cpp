#include "millrace/cli/serve/http_server.h"

#include <charconv>
#include <utility>

#include "millrace/cli/serve/connections.h"
#include "millrace/cli/serve/http_library.h"
#include "millrace/cli/text/json_text.h"
#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "millrace/core/utf8.h"

namespace millrace::cli {

namespace {

// The library's memory of a connection: its head, and a piece of its body. A head that does not fit is answered by the
// library itself.
constexpr intptr_t kConnectionBytes = 32 << 10;

using State = ClientConnection::State;

struct Head {
  size_t bytes = 0;    // of its names and values, as they stand in it
  int lengths = 0;     // how often it says how long the body is
  bool blank = false;  // whether a blank stands before a colon
};

int add_to_head(void* head, int kind, const char* name, const char* value) {
  auto& out = *static_cast<Head*>(head);
  const size_t value_bytes = value == nullptr ? 0 : std::string_view(value).size();
  out.bytes += std::string_view(name).size() + value_bytes + std::string_view(": \r\n").size();
  if (kind != MhdCalls::kHeaders) return MhdCalls::kYes;
  out.blank |= std::string_view(name).find_first_of(" \t") != std::string_view::npos;
  if (same_text(name, "Content-Length") || same_text(name, "Transfer-Encoding")) ++out.lengths;
  return MhdCalls::kYes;
}

// Of the target of a request, which may be a whole address.
std::string_view path_of(std::string_view target) {
  constexpr std::string_view kScheme = "http://";
  if (!same_text(target.substr(0, kScheme.size()), kScheme)) return target;
  const size_t begin = target.find('/', kScheme.size());
  return begin == target.npos ? "/" : target.substr(begin);
}

}  // namespace

HttpAnswer refusal(unsigned status, std::string_view error, std::string_view hint) {
  JsonText json;
  json.open('{').key("v").value(1).key("error").value(error);
  if (!hint.empty()) json.key("hint").value(hint);
  return {.status = status, .body = json.line()};
}

HttpAnswer busy() { return refusal(503, "the server holds as many requests as it has memory for", "ask again soon"); }

struct HttpServer::Impl {
  class Exchange final : public HttpExchange {
   public:
    Exchange(Impl& server, void* connection) : server_(server), connection_(connection) {}
    void answer(HttpAnswer answer) override {
      answer_ = std::move(answer);
      server_.mhd_.resume(connection_);
    }

   private:
    friend struct Impl;
    Impl& server_;
    void* const connection_;
    size_t length_ = 0;  // of the body, if the head tells
    std::optional<HttpAnswer> answer_;
  };

  explicit Impl(HttpServerArgs args)
      : mhd_(mhd()), args_(std::move(args)), connections_({.arrive = kSlow, .read = kSlowReader}) {}

  void start() {
    const MhdCalls::OptionItem options[] = {
        {MhdCalls::kListenSocket, args_.listening.get(), nullptr},
        {MhdCalls::kConnectionMemory, kConnectionBytes, nullptr},
        {MhdCalls::kConnectionLimit, kMostConnections, nullptr},
        {MhdCalls::kConnectionTimeout, kIdle.count(), nullptr},
        {MhdCalls::kNotifyCompleted, reinterpret_cast<intptr_t>(&Impl::completed), this},
        {MhdCalls::kNotifyConnection, reinterpret_cast<intptr_t>(&Impl::notified), this},
        // Refuses some heads that a proxy may read in another way (refuse() does the others).
        {MhdCalls::kStrict, 1, nullptr},
        // A pool of one thread would not be a pool.
        {args_.threads > 1 ? MhdCalls::kThreadPool : MhdCalls::kEnd, args_.threads, nullptr},
        {MhdCalls::kEnd, 0, nullptr}};
    constexpr unsigned kFlags = MhdCalls::kInternalThread | MhdCalls::kEpoll | MhdCalls::kTurbo | MhdCalls::kSuspend;
    daemon_ = mhd_.start(kFlags, 0, nullptr, nullptr, &Impl::called, this, MhdCalls::kOptions, options, MhdCalls::kEnd);
    if (daemon_ == nullptr) throw IoError("libmicrohttpd cannot start: the system has no thread or descriptor left");
  }

  // The functions that the library calls. None may throw.

  static void notified(void* self, void* connection, void** socket_context, int what) noexcept {
    auto& server = *static_cast<Impl*>(self);
    if (what != MhdCalls::kStarted) return server.connections_.remove(static_cast<ClientConnection*>(*socket_context));
    try {
      const auto* const descriptor = static_cast<const int*>(server.mhd_.info(connection, MhdCalls::kDescriptor));
      *socket_context = server.connections_.add(*descriptor);
    } catch (...) {  // no memory is left: called() closes the connection
      *socket_context = nullptr;
    }
  }
  static void completed(void* self, void* connection, void** request, int) noexcept {
    const std::unique_ptr<Exchange> ends(static_cast<Exchange*>(std::exchange(*request, nullptr)));
    if (auto* const client = static_cast<Impl*>(self)->client_of(connection)) client->enter(State::waiting);
  }
  static int called(void* self, void* connection, const char* url, const char* method, const char*, const char* data,
                    size_t* size, void** request) noexcept {
    auto& server = *static_cast<Impl*>(self);
    try {
      if (server.client_of(connection) == nullptr) return MhdCalls::kNo;
      if (*request == nullptr) return server.begin(connection, method, url, request);
      auto& exchange = *static_cast<Exchange*>(*request);
      if (*size == 0) return server.go_on(exchange);
      server.take(exchange, {data, std::exchange(*size, 0)});
      return MhdCalls::kYes;
    } catch (...) {  // no memory is left: the connection is closed
      return MhdCalls::kNo;
    }
  }

  // Null if there was no memory for it.
  ClientConnection* client_of(void* connection) const noexcept {
    return *static_cast<ClientConnection* const*>(mhd_.info(connection, MhdCalls::kSocketContext));
  }

  const char* header(void* connection, const char* name) const {
    return mhd_.header(connection, MhdCalls::kHeaders, name);
  }

  // A head is there.
  int begin(void* connection, const char* method, const char* url, void** request) {
    client_of(connection)->enter(State::reading);
    auto made = std::make_unique<Exchange>(*this, connection);
    Exchange& exchange = *made;
    *request = made.release();
    exchange.method = method;
    exchange.path = path_of(url);
    exchange.bytes = BudgetShare(args_.budget);
    exchange.answer_ = refuse(exchange);
    if (!exchange.answer_) return MhdCalls::kYes;
    // A client that waits for leave to send the body gets its answer in place of it, and so does one whose body has no
    // certain end; the library closes the connection then. Other bodies are read first (take()).
    const bool at_once = exchange.answer_->status == 400 || header(connection, "Expect") != nullptr ||
                         header(connection, "Transfer-Encoding") != nullptr;
    return at_once ? send(exchange) : MhdCalls::kYes;
  }

  std::optional<HttpAnswer> refuse(Exchange& exchange) const {
    void* const connection = exchange.connection_;
    Head head{.bytes = exchange.method.size() + exchange.path.size()};
    mhd_.headers(connection, MhdCalls::kHeaders | MhdCalls::kArguments, add_to_head, &head);
    if (head.bytes > kMostHead) {
      return refusal(431,
                     cat("the head of the request has ", head.bytes, " bytes, at most ", kMostHead, " are allowed"));
    }
    // Otherwise a proxy may see another end of the body than this server.
    if (head.blank) return refusal(400, "the head of the request has a blank before a colon");
    if (head.lengths > 1) {
      return refusal(400, "the request has more than one Content-Length or Transfer-Encoding");
    }
    const char *const length = header(connection, "Content-Length"), *const coding =
                                                                         header(connection, "Transfer-Encoding");
    if (coding != nullptr && !same_text(coding, "chunked")) {
      return refusal(501, cat("the transfer coding ", quote(coding), " is not known"),
                     "send the body as it is, or chunked");
    }
    if (auto answer = args_.refuse(exchange)) return answer;
    if (const char* const content = header(connection, "Content-Encoding");
        content != nullptr && !same_text(content, "identity")) {
      return refusal(415, cat("the content coding ", quote(content), " is not known"), "send the body as it is");
    }
    const std::string_view digits = length == nullptr ? "" : length;
    const auto end = digits.data() + digits.size();
    const std::from_chars_result read = std::from_chars(digits.data(), end, exchange.length_);
    if (read.ec == std::errc::result_out_of_range || exchange.length_ > kMostBody) return too_large();
    return {};
  }

  static HttpAnswer too_large() {
    return refusal(413, cat("the body has more than ", kMostBody, " bytes"), "send fewer rows at once");
  }

  // A piece of the body is there. The rest of a body that is refused is read and dropped, because a client that sends
  // would not see an answer.
  void take(Exchange& exchange, std::string_view data) const {
    if (exchange.answer_) return;
    if (exchange.body.size() + data.size() > kMostBody) {
      exchange.answer_ = too_large();
    } else if (!exchange.bytes.add(data.size())) {
      exchange.answer_ = busy();
    } else {
      // Memory is not taken for what a head only says.
      if (exchange.body.size() > kMostBody / 8) exchange.body.reserve(exchange.length_);
      exchange.body += data;
      return;
    }
    exchange.drop_body();
  }

  // The body is there, or an answer is.
  int go_on(Exchange& exchange) {
    // The library ends the process if a connection is suspended when it stops.
    if (!exchange.answer_ && !connections_.begin_answer(*client_of(exchange.connection_))) {
      exchange.answer_ = refusal(503, "the server ends", "ask again soon");
    }
    if (!exchange.answer_) exchange.answer_ = args_.prepare(exchange);
    if (exchange.answer_) return send(exchange);
    mhd_.suspend(exchange.connection_);
    try {
      exchange.start();
    } catch (...) {  // no memory is left
      exchange.answer({.status = 500});
    }
    return MhdCalls::kYes;
  }

  int send(Exchange& exchange) {
    HttpAnswer& answer = *exchange.answer_;
    args_.answered(exchange, answer);
    client_of(exchange.connection_)->enter(State::sending);
    // The body stays where it is until the request is completed.
    void* const response = mhd_.make_response(answer.body.size(), answer.body.data(), MhdCalls::kStaysInMemory);
    if (response == nullptr) return MhdCalls::kNo;
    if (!answer.body.empty()) mhd_.add_header(response, "Content-Type", answer.type);
    if (answer.allow != nullptr) mhd_.add_header(response, "Allow", answer.allow);
    if (answer.status == 503) mhd_.add_header(response, "Retry-After", "1");
    if (stops_) mhd_.add_header(response, "Connection", "close");
    const int queued = mhd_.queue(exchange.connection_, answer.status, response);
    mhd_.drop(response);
    return queued;
  }

  void stop() noexcept {
    if (daemon_ == nullptr || stops_.exchange(true)) return;
    // Connections that the system has accepted are taken, too.
    const int listening = mhd_.quiesce(daemon_);
    sockaddr_storage address{};
    socklen_t size = sizeof address;
    for (;;) {
      const int next = ::accept4(listening, reinterpret_cast<sockaddr*>(&address), &size, SOCK_CLOEXEC | SOCK_NONBLOCK);
      if (next < 0) break;
      mhd_.add_connection(daemon_, next, reinterpret_cast<const sockaddr*>(&address), size);
      size = sizeof address;
    }
    args_.listening = {};
    connections_.close_when_quiet();
    mhd_.stop(daemon_);
  }

  const MhdCalls& mhd_;
  HttpServerArgs args_;
  Connections connections_;
  std::atomic<bool> stops_{false};
  void* daemon_ = nullptr;
};

HttpServer::HttpServer(HttpServerArgs args) : impl_(std::make_unique<Impl>(std::move(args))) {}
HttpServer::~HttpServer() { stop(); }
void HttpServer::start() { impl_->start(); }
void HttpServer::stop() noexcept { impl_->stop(); }
int64_t HttpServer::connections() const { return impl_->connections_.count(); }

}  // namespace millrace::cli
