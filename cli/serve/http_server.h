// HttpServer: takes HTTP/1.1 requests by libmicrohttpd, on a few threads that wait for all connections, so that idle
// connections cost no thread.
//
// A request's body is complete before anybody sees it. Limits: a head of kMostHead bytes (431), a body of kMostBody
// (413), kSlow for a request to arrive (408), kMostConnections, and a budget of bytes for all requests together (503).
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "millrace/cli/serve/byte_budget.h"
#include "millrace/core/clock.h"
#include "millrace/core/descriptor.h"

namespace millrace::cli {

struct HttpAnswer {
  unsigned status = 200;
  std::string body = {};
  const char* type = "application/json";
  const char* allow = nullptr;  // the methods that there are
};

// A request, and its answer on the way back.
class HttpExchange {
 public:
  virtual ~HttpExchange() = default;

  std::string method, path;
  std::string body;
  Clock::time_point begun = Clock::now();
  BudgetShare bytes;  // of the server's budget: the body, and whatever is made of it
  void drop_body() {
    bytes.give(body.size());
    std::string().swap(body);
  }
  // Set by HttpServerArgs::prepare: makes sure that answer() is called later, by any thread.
  std::function<void()> start;

  // Sends the answer. Any thread, once, after start() was called.
  virtual void answer(HttpAnswer answer) = 0;
};

struct HttpServerArgs {
  Descriptor listening;
  int threads = 1;
  ByteBudget* budget = nullptr;
  // Called when the head of a request is there. An answer refuses the request.
  std::function<std::optional<HttpAnswer>(const HttpExchange&)> refuse;
  // Called on a thread of the server with a whole request. If there is no answer yet, it sets HttpExchange::start,
  // which is called next. Neither may wait.
  std::function<std::optional<HttpAnswer>(HttpExchange&)> prepare;
  // Called when the answer begins to be sent.
  std::function<void(const HttpExchange&, const HttpAnswer&)> answered;
};

class HttpServer {
 public:
  static constexpr size_t kMostHead = 8 << 10, kMostBody = 8 << 20;
  static constexpr int kMostConnections = 1000;
  static constexpr std::chrono::seconds kSlow{10};
  static constexpr std::chrono::seconds kSlowReader{60};  // for an answer to be read
  static constexpr std::chrono::seconds kIdle{75};  // a connection without a request; longer than proxies keep one

  // Throws ConfigError without libmicrohttpd.
  explicit HttpServer(HttpServerArgs args);
  // Stops.
  ~HttpServer();

  // Begins to take requests. Throws IoError if it cannot.
  void start();
  // Takes no more connections, answers all requests that have begun to arrive, and closes. Idempotent; does nothing
  // before start().
  void stop() noexcept;
  int64_t connections() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// The body of an answer that refuses a request: {"v":1,"error":"...","hint":"..."}.
HttpAnswer refusal(unsigned status, std::string_view error, std::string_view hint = {});
// For a request that the budget of bytes has no room for.
HttpAnswer busy();

}  // namespace millrace::cli
