#include "millrace/cli/serve/connections.h"

#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <string>

#include "millrace/cli/serve/listening_socket.h"
#include "tests/cli/serve/client.h"

namespace millrace::cli {
namespace {

using State = ClientConnection::State;
using std::chrono::milliseconds;

struct Pair {
  ListeningSocket socket = listen_at("127.0.0.1", 0);
  Descriptor client = connect_to(socket.address);
  Descriptor server{::accept(socket.descriptor.get(), nullptr, nullptr)};
};

bool starts_with_408(const std::string& answer) { return answer.starts_with("HTTP/1.1 408 "); }

TEST(Connections, CloseThoseWhoseRequestsAreSlow) {
  Connections connections({.arrive = milliseconds(1), .read = std::chrono::hours(1)});
  const Pair body, head, idle, sends;
  connections.add(body.server.get())->enter(State::reading);
  connections.add(head.server.get());
  connections.add(idle.server.get());
  connections.add(sends.server.get())->enter(State::sending);
  EXPECT_EQ(connections.count(), 4);
  EXPECT_TRUE(starts_with_408(ask(body.client, "")));
  EXPECT_TRUE(starts_with_408(ask(head.client, "G")));
  char byte = 0;
  EXPECT_LT(::recv(idle.client.get(), &byte, 1, MSG_DONTWAIT), 0);
  EXPECT_LT(::recv(sends.client.get(), &byte, 1, MSG_DONTWAIT), 0);
}

TEST(Connections, CountBytesFromTheRequestBefore) {
  Connections connections({.arrive = milliseconds(1), .read = milliseconds(1)});
  const Pair pair;
  ASSERT_EQ(::send(pair.client.get(), "GET", 3, 0), 3);
  char bytes[3];
  ASSERT_EQ(::recv(pair.server.get(), bytes, 3, MSG_WAITALL), 3);
  ClientConnection* const connection = connections.add(pair.server.get());
  ASSERT_TRUE(connections.begin_answer(*connection));
  connection->enter(State::waiting);
  connections.close_when_quiet();
  EXPECT_TRUE(starts_with_408(ask(pair.client, "G")));
}

TEST(Connections, CloseThoseThatDoNotRead) {
  Connections connections({.arrive = std::chrono::hours(1), .read = milliseconds(1)});
  const Pair pair;
  connections.add(pair.server.get())->enter(State::sending);
  EXPECT_EQ(ask(pair.client, ""), "");
}

TEST(Connections, CloseWhenNoRequestIsUnderWay) {
  Connections connections({.arrive = std::chrono::hours(1), .read = std::chrono::hours(1)});
  const Pair pair;
  ClientConnection* const connection = connections.add(pair.server.get());
  ASSERT_TRUE(connections.begin_answer(*connection));
  auto waits = std::async(std::launch::async, [&] { connections.close_when_quiet(); });
  EXPECT_EQ(waits.wait_for(milliseconds(200)), std::future_status::timeout);
  connections.remove(connection);
  waits.get();
  EXPECT_EQ(connections.count(), 0);
}

TEST(Connections, BeginNoAnswerOnceTheyAreClosed) {
  Connections connections({.arrive = std::chrono::hours(1), .read = std::chrono::hours(1)});
  const Pair pair;
  ClientConnection* const connection = connections.add(pair.server.get());
  connections.close_when_quiet();
  connection->enter(State::reading);
  EXPECT_FALSE(connections.begin_answer(*connection));
}

TEST(Connections, AreQuietFromTheLastRequestOn) {
  Connections connections({.arrive = std::chrono::hours(1), .read = std::chrono::hours(1)});
  const Pair pair;
  ClientConnection* const connection = connections.add(pair.server.get());
  auto waits = std::async(std::launch::async, [&] { connections.close_when_quiet(); });
  waits.wait_for(milliseconds(50));
  const auto begun = std::chrono::steady_clock::now();
  connection->enter(State::waiting);
  if (waits.wait_for(milliseconds(0)) == std::future_status::ready) GTEST_SKIP() << "this thread had to wait";
  waits.get();
  EXPECT_GE(std::chrono::steady_clock::now() - begun, milliseconds(100));
}

}  // namespace
}  // namespace millrace::cli
