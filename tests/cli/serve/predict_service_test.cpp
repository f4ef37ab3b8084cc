#include "millrace/cli/serve/predict_service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <iterator>
#include <mutex>
#include <string>
#include <vector>

#include "millrace/core/errors.h"
#include "tests/cli/serve/client.h"
#include "tests/cli/serve/has_mhd.h"
#include "tests/cli/serve/served.h"

namespace millrace::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class PredictServiceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    SKIP_WITHOUT_MHD();
    train_served(folder_, "m.safetensors");
    ListeningSocket socket = listen_at("127.0.0.1", 0);
    address_ = socket.address;
    service_.emplace(PredictServiceArgs{.socket = std::move(socket),
                                        .threads = 1,
                                        .load = [this] { return load_served(folder_.path("m.safetensors")); },
                                        .log = [this](const std::string& line) { add_line(line); },
                                        .log_error = [this](const std::string& line) { add_line("error: " + line); }});
  }
  std::string ask_for(const std::string& head, std::string_view body = {}) {
    return ask(
        connect_to(address_),
        cat(head, " HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: ", body.size(), "\r\n\r\n", body));
  }
  void add_line(const std::string& line) {
    const std::lock_guard lock(mutex_);
    log_ += line + '\n';
  }
  std::string log() {
    const std::lock_guard lock(mutex_);
    return log_;
  }

  TempFolder folder_;
  std::string address_, log_;
  std::mutex mutex_;
  std::optional<PredictService> service_;
};

constexpr std::string_view kRow = R"([{"a":1,"b":2}])";

TEST_F(PredictServiceTest, HasThreePlaces) {
  EXPECT_EQ(log(), cat("the model reads a and b\nlistening at http://", address_, ", 1 thread\n"));
  EXPECT_THAT(ask_for("POST /predict", kRow), HasSubstr("\r\n\r\n[{\"v\":1,\"row\":0,\"prediction\":"));
  EXPECT_THAT(ask_for("GET /healthz"), HasSubstr("\r\n\r\nok\n"));
  EXPECT_THAT(ask_for("GET /metrics"), HasSubstr("millrace_requests_total{path=\"/predict\",code=\"200\"} 1\n"));
  EXPECT_THAT(ask_for("GET /"), StartsWith("HTTP/1.1 404 "));
  EXPECT_THAT(ask_for("GET /predict"), HasSubstr("\r\nAllow: POST\r\n"));
  EXPECT_THAT(ask_for("POST /predict", "["), StartsWith("HTTP/1.1 400 "));
  EXPECT_THAT(ask_for("POST /predict", R"([{"a":1}])"), HasSubstr("row 0: the column \\\"b\\\" is missing"));
}

TEST_F(PredictServiceTest, AnswersWhoHasAskedBeforeItBegan) {
  ListeningSocket socket = listen_at("127.0.0.1", 0);
  std::vector<Descriptor> clients;
  for (int i = 0; i < 20; ++i) {
    clients.push_back(connect_to(socket.address));
    constexpr std::string_view kAsk = "GET /metrics HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    ASSERT_EQ(::send(clients.back().get(), kAsk.data(), kAsk.size(), 0), std::ssize(kAsk));
  }
  const PredictService other({.socket = std::move(socket),
                              .threads = 2,
                              .load = [this] { return load_served(folder_.path("m.safetensors")); },
                              .log = [](const std::string&) {},
                              .log_error = [](const std::string&) {}});
  for (const Descriptor& client : clients) EXPECT_THAT(ask(client, ""), StartsWith("HTTP/1.1 200 "));
}

TEST_F(PredictServiceTest, LoadsAnotherModel) {
  const std::string before = ask_for("POST /predict", kRow);
  train_served(folder_, "m.safetensors", 2);
  service_->reload();
  const std::string after = ask_for("POST /predict", kRow);
  EXPECT_NE(before.substr(before.find("\r\n\r\n")), after.substr(after.find("\r\n\r\n")));
  folder_.write("m.safetensors", "none");
  service_->reload();
  EXPECT_THAT(log(), HasSubstr("error: the model that was loaded goes on: "));
  EXPECT_THAT(ask_for("POST /predict", kRow), HasSubstr(after.substr(after.find("\r\n\r\n"))));
  EXPECT_THAT(ask_for("GET /metrics"), HasSubstr("model_loads_total{result=\"failed\"} 1\n"));
}

}  // namespace
}  // namespace millrace::cli
