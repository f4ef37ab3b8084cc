#include "millrace/cli/serve/http_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <thread>

#include "millrace/cli/serve/listening_socket.h"
#include "millrace/core/text.h"
#include "tests/cli/serve/client.h"
#include "tests/cli/serve/has_mhd.h"

namespace millrace::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// Answers with the method and the body: at once, or by another thread for /later; nothing is at /none.
class HttpServerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    SKIP_WITHOUT_MHD();
    ListeningSocket socket = listen_at("127.0.0.1", 0);
    address_ = socket.address;
    server_.emplace(HttpServerArgs{.listening = std::move(socket.descriptor),
                                   .threads = 2,
                                   .budget = &budget_,
                                   .refuse =
                                       [](const HttpExchange& exchange) {
                                         return exchange.path == "/none" ? std::optional(refusal(404, "none", "other"))
                                                                         : std::nullopt;
                                       },
                                   .prepare = [this](HttpExchange& exchange) { return prepare(exchange); },
                                   .answered =
                                       [this](const HttpExchange&, const HttpAnswer& answer) {
                                         if (answer.status == 200) ++answered_;
                                       }});
    server_->start();
  }
  void TearDown() override {
    server_.reset();
    for (std::thread& thread : later_) thread.join();
    EXPECT_EQ(budget_.held(), 0u);
  }

  std::optional<HttpAnswer> prepare(HttpExchange& exchange) {
    const auto made = [&exchange] { return HttpAnswer{.body = cat(exchange.method, ' ', exchange.body)}; };
    if (exchange.path != "/later") return made();
    exchange.start = [this, &exchange, made] { later_.emplace_back([&exchange, made] { exchange.answer(made()); }); };
    return {};
  }
  std::string ask_for(const std::string& head, std::string_view body = {}) {
    return ask(
        connect_to(address_),
        cat(head, " HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: ", body.size(), "\r\n\r\n", body));
  }

  ByteBudget budget_{HttpServer::kMostBody};
  std::string address_;
  std::atomic<int> answered_{0};
  std::vector<std::thread> later_;
  std::optional<HttpServer> server_;
};

TEST_F(HttpServerTest, AnswersAtOnceAndLater) {
  EXPECT_THAT(ask_for("POST /", "abc"), ::testing::EndsWith("\r\n\r\nPOST abc"));
  EXPECT_THAT(ask_for("GET /later"), ::testing::EndsWith("\r\n\r\nGET "));
  EXPECT_THAT(ask_for("POST /later", std::string(100000, 'a')), StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_EQ(answered_, 3);
}

TEST_F(HttpServerTest, RefusesByTheHead) {
  const std::string answer = ask_for("POST /none", std::string(100000, 'a'));
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 404 "));
  EXPECT_THAT(answer, HasSubstr("\r\n\r\n{\"v\":1,\"error\":\"none\",\"hint\":\"other\"}\n"));
}

// A proxy in front of the server may read it in another way.
TEST_F(HttpServerTest, RefusesAHeadThatIsNotClear) {
  const auto status = [&](const std::string& fields) {
    return ask(connect_to(address_),
               cat("POST / HTTP/1.1\r\nConnection: close\r\n", fields, "\r\n3\r\nabc\r\n0\r\n\r\n"))
        .substr(0, 12);
  };
  EXPECT_EQ(status("Host: a\r\nContent-Length: 3\r\n"), "HTTP/1.1 200");
  EXPECT_EQ(status("Host: a\r\nTransfer-Encoding: chunked\r\n"), "HTTP/1.1 200");
  EXPECT_EQ(status("Host: a\r\nContent-Length: 3\r\nContent-Length: 4\r\n"), "HTTP/1.1 400");
  EXPECT_EQ(status("Host: a\r\nTransfer-Encoding: chunked\r\ntransfer-encoding: identity\r\n"), "HTTP/1.1 400");
  EXPECT_EQ(status("Host: a\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n"), "HTTP/1.1 400");
  EXPECT_EQ(status("Host: a\r\nTransfer-Encoding : chunked\r\n"), "HTTP/1.1 400");
  EXPECT_EQ(status("Content-Length: 3\r\n"), "HTTP/1.1 400");
}

TEST_F(HttpServerTest, HasLimits) {
  EXPECT_THAT(ask_for(cat("GET /", std::string(HttpServer::kMostHead, 'a'))), StartsWith("HTTP/1.1 431 "));
  EXPECT_THAT(ask_for(cat("GET /?a=", std::string(HttpServer::kMostHead, 'a'))), StartsWith("HTTP/1.1 431 "));
  EXPECT_THAT(ask_for("POST /", std::string(HttpServer::kMostBody, 'a')), StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(ask_for("POST /", std::string(HttpServer::kMostBody + 1, 'a')), StartsWith("HTTP/1.1 413 "));
  ASSERT_TRUE(budget_.take(HttpServer::kMostBody));
  const std::string busy = ask_for("POST /", "abc");
  EXPECT_THAT(busy, StartsWith("HTTP/1.1 503 "));
  EXPECT_THAT(busy, HasSubstr("\r\nRetry-After: 1\r\n"));
  budget_.give(HttpServer::kMostBody);
}

TEST_F(HttpServerTest, StopsWhenItHasAnswered) {
  const Descriptor idle = connect_to(address_);
  const Descriptor half = connect_to(address_);
  ASSERT_EQ(::send(half.get(), "GET / HTTP/1.1\r\n", 16, 0), 16);
  std::thread stops([&] { server_->stop(); });
  while (connect_to(address_)) {
  }
  EXPECT_THAT(ask(half, "Host: a\r\n\r\n"), HasSubstr("\r\nConnection: close\r\n"));
  stops.join();
  EXPECT_EQ(ask(idle, ""), "");
  EXPECT_FALSE(connect_to(address_));
}

}  // namespace
}  // namespace millrace::cli
