#include "millrace/trainer/remote/zmq_socket.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <memory>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "millrace/trainer/remote/wake_up.h"
#include "tests/support/temp_folder.h"
#include "tests/trainer/remote/has_zmq.h"
#include "tests/trainer/remote/socket_testing.h"

namespace millrace {
namespace {

using Event = ZmqSocket::Event;
using Type = ZmqSocket::Type;
using test::message;
using test::next_event;
using test::next_message;
using test::RawPeer;
using test::wait_until;
using Texts = std::vector<std::string>;

constexpr char kAnywhere[] = "tcp://127.0.0.1:*";

// The keys of RFC 32's example.
constexpr char kOpen[] = "rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7";
constexpr char kSecret[] = "JTKVSB%%)wK0E.X)V>+}o?pNmC{O&4W4b!Ni{Lh6";

TEST(CurveKeyTexts, AreFortyDigitsOfZ85) {
  EXPECT_TRUE(is_curve_key(kOpen));
  EXPECT_TRUE(is_curve_key(std::string(40, '0')));
  EXPECT_FALSE(is_curve_key(std::string(39, '0')));
  EXPECT_FALSE(is_curve_key(std::string(45, '0')));
  EXPECT_FALSE(is_curve_key(std::string(39, '0') + ' '));
  EXPECT_FALSE(is_curve_key(std::string(39, '0') + "\xc3"));
  EXPECT_TRUE(is_curve_key("%nSc0" + std::string(35, '0'))) << "four bytes 0xff";
  EXPECT_FALSE(is_curve_key("%nSc1" + std::string(35, '0'))) << "more than four bytes hold";
  EXPECT_FALSE(is_curve_key(std::string(40, '#')));
}

TEST(CurveKeyTexts, StandForThirtyTwoBytes) {
  SKIP_WITHOUT_ZMQ();
  EXPECT_EQ(curve_key_text(std::string_view("\x54\xFC\xBA\x24\xE9\x32\x49\x96\x93\x16\xFB\x61\x7C\x87\x2B\xB0\xC1\xD1"
                                            "\xFF\x14\x80\x04\x27\xC5\x94\xCB\xFA\xCF\x1B\xC2\xD6\x52",
                                            32)),
            kOpen);
  EXPECT_EQ(curve_key_text(""), "");
  EXPECT_EQ(curve_key_text(std::string(33, 'x')), "");
}

TEST(ZmqContextTest, MakesKeys) {
  SKIP_WITHOUT_ZMQ();
  const CurveKeys keys = ZmqContext::make_keys(), others = ZmqContext::make_keys();
  EXPECT_TRUE(is_curve_key(keys.secret));
  EXPECT_TRUE(is_curve_key(keys.open));
  EXPECT_NE(keys.secret, others.secret);
  EXPECT_EQ(ZmqContext::public_key(keys.secret), keys.open);
  EXPECT_EQ(ZmqContext::public_key(kSecret), kOpen);
  EXPECT_EQ(error_of<ConfigError>([] { ZmqContext::public_key(std::string(45, '0')); }),
            "expected a key, 40 characters of Z85");
}

TEST(ZmqContextTest, TellsItsVersion) {
  SKIP_WITHOUT_ZMQ();
  EXPECT_EQ(ZmqContext::version().substr(0, 2), "4.");
}

TEST(ZmqPartTest, TakesATextWithoutACopy) {
  SKIP_WITHOUT_ZMQ();
  std::string text(1000, 'x');
  const char* const bytes = text.data();
  ZmqPart part(std::move(text));
  EXPECT_EQ(part.bytes().data(), bytes);
  ZmqPart moved(std::move(part));
  EXPECT_EQ(moved.bytes().data(), bytes);
  ZmqPart assigned("old");
  assigned = std::move(moved);
  EXPECT_EQ(assigned.bytes().data(), bytes);
  EXPECT_EQ(assigned.bytes(), std::string(1000, 'x'));
  EXPECT_EQ(assigned.peer(), "");
  EXPECT_EQ(ZmqPart().bytes(), "");
  EXPECT_EQ(ZmqPart(std::string()).bytes(), "");
}

class ZmqSocketTest : public ::testing::Test {
 protected:
  void SetUp() override {
    SKIP_WITHOUT_ZMQ();
    context_ = std::make_unique<ZmqContext>();
  }

  // A dealer that is connected.
  struct Client {
    ZmqSocket socket, monitor;
    Client(ZmqContext& context, const std::string& endpoint)
        : socket(context, Type::dealer), monitor(socket.monitor(context)) {
      socket.connect(endpoint);
      EXPECT_EQ(next_event(monitor), Event::ready);
    }
  };

  std::unique_ptr<ZmqContext> context_;
};

TEST_F(ZmqSocketTest, CarriesMessagesBothWays) {
  ZmqSocket router(*context_, Type::router);
  router.bind(kAnywhere);
  EXPECT_TRUE(router.endpoint().starts_with("tcp://127.0.0.1:")) << router.endpoint();
  Client client(*context_, router.endpoint());
  ZmqParts parts = message({"one", "", std::string(100000, 'x')});
  EXPECT_TRUE(client.socket.send(std::move(parts)));
  EXPECT_TRUE(parts.empty());
  ZmqParts got;
  ASSERT_TRUE(wait_until(router, [&] { return router.receive(got); }));
  ASSERT_EQ(got.size(), 4u);
  EXPECT_EQ(got[1].bytes(), "one");
  EXPECT_EQ(got[1].peer(), "127.0.0.1");
  EXPECT_EQ(got[2].bytes(), "");
  EXPECT_EQ(got[3].bytes(), std::string(100000, 'x'));
  ZmqParts answer = message({"two"});
  answer.insert(answer.begin(), std::move(got[0]));
  EXPECT_TRUE(router.send(std::move(answer)));
  EXPECT_EQ(next_message(client.socket), Texts{"two"});
  EXPECT_FALSE(router.receive(got));
  EXPECT_TRUE(got.empty());
}

TEST_F(ZmqSocketTest, TakesIpv6AddressesInBrackets) {
  ZmqSocket router(*context_, Type::router);
  try {
    router.bind("tcp://[::1]:*");
  } catch (const IoError& error) {
    GTEST_SKIP() << error.what();
  }
  EXPECT_TRUE(router.endpoint().starts_with("tcp://[::1]:")) << router.endpoint();
  Client client(*context_, router.endpoint());
  EXPECT_TRUE(client.socket.send(message({"x"})));
  EXPECT_EQ(next_message(router).back(), "x");
}

// Where the name has an IPv6 address, too, nobody listens there.
TEST_F(ZmqSocketTest, ANameMeansItsIpv4Address) {
  ZmqSocket router(*context_, Type::router);
  router.bind("tcp://0.0.0.0:*");
  const std::string endpoint = router.endpoint();
  const Client client(*context_, "tcp://localhost" + endpoint.substr(endpoint.rfind(':')));
}

TEST_F(ZmqSocketTest, SaysWhatIsWrongWithAnEndpoint) {
  ZmqSocket router(*context_, Type::router), dealer(*context_, Type::dealer);
  const auto bind_error = [&](const std::string& endpoint) {
    return error_of<Error>([&] { ZmqSocket(*context_, Type::router).bind(endpoint); });
  };
  for (const std::string none : {"", "host", "5599", "tcp://", "tcp://127.0.0.1", "tcp://127.0.0.1:x", "foo://x:1",
                                 "tcp://127.0.0.1:99999", "udp://127.0.0.1:5599"}) {
    EXPECT_THROW(ZmqSocket(*context_, Type::router).bind(none), ConfigError) << none;
    EXPECT_EQ(bind_error(none),
              cat("cannot listen at ", quote(none), ": expected an endpoint; write it as tcp://HOST:PORT"));
  }
  EXPECT_EQ(error_of<ConfigError>([&] { dealer.connect("tcp://host"); }),
            "cannot connect to \"tcp://host\": expected an endpoint; write it as tcp://HOST:PORT");
  EXPECT_EQ(bind_error("tcp://192.0.2.1:5599"),
            "cannot listen at \"tcp://192.0.2.1:5599\": it is no address of this machine; give the address of one of "
            "its interfaces, or 0.0.0.0 for all");
  router.bind(kAnywhere);
  EXPECT_EQ(bind_error(router.endpoint()), cat("cannot listen at ", quote(router.endpoint()),
                                               ": Address already in use; another program listens there; give "
                                               "another port"));
  dealer.connect("tcp://nowhere.invalid:5599");  // it may come
}

TEST_F(ZmqSocketTest, SendsToNobodyWhoIsNotThere) {
  ZmqSocket router(*context_, Type::router), dealer(*context_, Type::dealer);
  router.bind(kAnywhere);
  ZmqParts parts = message({"nobody", "x"});
  EXPECT_FALSE(router.send(std::move(parts)));
  dealer.connect("tcp://127.0.0.1:1");
  EXPECT_FALSE(dealer.send(message({"x"})));

  auto client = std::make_unique<Client>(*context_, router.endpoint());
  EXPECT_TRUE(client->socket.send(message({"hello"})));
  const std::string identity = next_message(router).front();
  EXPECT_TRUE(router.send(message({identity, "x"})));
  client.reset();
  EXPECT_TRUE(wait_until(router, [&] { return !router.send(message({identity, "x"})); }));
}

// A message that waits for a peer is not given to the next one at the same address.
TEST_F(ZmqSocketTest, ADealerForgetsWhatAPeerDidNotTake) {
  auto router = std::make_unique<ZmqSocket>(*context_, Type::router);
  router->bind(kAnywhere);
  const std::string endpoint = router->endpoint();
  Client client(*context_, endpoint);
  router.reset();
  EXPECT_EQ(next_event(client.monitor), Event::lost);
  EXPECT_TRUE(wait_until(client.monitor, [&] { return !client.socket.send(message({"to the first"})); }));
  ZmqSocket second(*context_, Type::router);
  ASSERT_TRUE(wait_until(client.socket, [&] {
    try {
      second.bind(endpoint);
      return true;
    } catch (const IoError&) {
      return false;  // the first one is still about to close
    }
  }));
  EXPECT_EQ(next_event(client.monitor), Event::ready);
  EXPECT_TRUE(client.socket.send(message({"to the second"})));
  EXPECT_EQ(next_message(second).back(), "to the second");
}

TEST_F(ZmqSocketTest, AFrameHasAtMostSixteenMebibytes) {
  ZmqSocket router(*context_, Type::router);
  router.bind(kAnywhere);
  Client client(*context_, router.endpoint());
  EXPECT_TRUE(client.socket.send(message({std::string(ZmqSocket::kMostFrameBytes, 'x')})));
  EXPECT_EQ(next_message(router).back().size(), ZmqSocket::kMostFrameBytes);

  RawPeer peer(router.endpoint());
  EXPECT_TRUE(peer.shake_hands());
  EXPECT_TRUE(peer.wait_for("READY"));
  EXPECT_TRUE(peer.send(RawPeer::frame(ZmqSocket::kMostFrameBytes + 1)));
  EXPECT_TRUE(peer.wait_for_end());
  EXPECT_TRUE(client.socket.send(message({"others go on"})));
  EXPECT_EQ(next_message(router).back(), "others go on");
}

TEST_F(ZmqSocketTest, AFrameThatDoesNotEndIsNotGivenOut) {
  ZmqSocket router(*context_, Type::router);
  router.bind(kAnywhere);
  {
    RawPeer peer(router.endpoint());
    EXPECT_TRUE(peer.shake_hands());
    EXPECT_TRUE(peer.wait_for("READY"));
    EXPECT_TRUE(peer.send(RawPeer::frame(3, true) + "one" + RawPeer::frame(1000) + "less"));
  }
  Client client(*context_, router.endpoint());
  EXPECT_TRUE(client.socket.send(message({"whole"})));
  const Texts got = next_message(router);
  EXPECT_EQ(got.size(), 2u);
  EXPECT_EQ(got.back(), "whole");
}

TEST_F(ZmqSocketTest, GarbageDoesNoHarm) {
  ZmqSocket router(*context_, Type::router);
  ZmqSocket monitor = router.monitor(*context_);
  router.be_open_server();
  router.bind(kAnywhere);
  std::string noise;
  for (uint32_t i = 0, x = 1; i < 100000; ++i) noise += static_cast<char>((x = x * 1664525 + 1013904223) >> 24);
  for (const std::string& garbage :
       {std::string("GET / HTTP/1.1\r\nHost: x\r\n\r\n"), noise, "\xff" + noise, RawPeer::greeting("NULL") + noise,
        RawPeer::greeting("CURVE") + noise, RawPeer::greeting("NOTHING"), RawPeer::greeting("NULL") + "\4\5HELLO"}) {
    RawPeer peer(router.endpoint());
    peer.send(garbage);
    EXPECT_TRUE(peer.wait_for_end()) << quote(garbage);
  }
  int opened = 0, ended = 0;
  EXPECT_TRUE(wait_until(monitor, [&] {
    while (const auto told = monitor.next_connection()) ++(told->open ? opened : ended);
    return ended == 7;
  }));
  EXPECT_EQ(opened, 7);
}

// Nobody answers libzmq's question, which is how things are while a Doorkeeper is being made or destroyed.
TEST_F(ZmqSocketTest, WithoutADoorkeeperNobodyGetsIn) {
  ZmqSocket open(*context_, Type::router), closed(*context_, Type::router), dealer(*context_, Type::dealer);
  open.be_open_server();
  open.bind(kAnywhere);
  const CurveKeys keys = ZmqContext::make_keys();
  closed.be_server(keys.secret);
  closed.bind(kAnywhere);
  RawPeer peer(open.endpoint());
  EXPECT_TRUE(peer.shake_hands());
  ZmqSocket monitor = dealer.monitor(*context_);
  dealer.be_client(ZmqContext::make_keys(), keys.open);
  dealer.connect(closed.endpoint());
  EXPECT_EQ(next_event(monitor), Event::refused);
  EXPECT_FALSE(dealer.send(message({"x"})));
  EXPECT_FALSE(peer.wait_for("READY"));
  EXPECT_TRUE(peer.wait_for_end());
}

TEST_F(ZmqSocketTest, RefusesWhatIsNoKey) {
  ZmqSocket socket(*context_, Type::router);
  EXPECT_EQ(error_of<ConfigError>([&] { socket.be_server("short"); }), "expected a key, 40 characters of Z85");
  EXPECT_EQ(
      error_of<ConfigError>([&] { socket.be_client({.secret = kSecret, .open = kOpen}, kOpen + std::string(5, '0')); }),
      "expected a key, 40 characters of Z85");
}

// Either may go first, while connections come and go; the context ends afterwards.
TEST_F(ZmqSocketTest, MonitorAndSocketAreDestroyedInAnyOrder) {
  for (const bool monitor_first : {true, false}) {
    ZmqSocket router(*context_, Type::router);
    auto monitor = std::make_unique<ZmqSocket>(router.monitor(*context_));
    router.bind(kAnywhere);
    auto client = std::make_unique<Client>(*context_, router.endpoint());
    if (monitor_first) monitor.reset();
    client->socket.send(message({"x"}));
    client.reset();
    for (int i = 0; i < 20; ++i) RawPeer(router.endpoint()).send("x");
    const Client last(*context_, router.endpoint());
    ZmqSocket moved(std::move(router));
  }
  context_.reset();
}

TEST_F(ZmqSocketTest, WaitsForADescriptorToo) {
  ZmqSocket router(*context_, Type::router);
  router.bind(kAnywhere);
  WakeUp wake;
  const Clock::time_point start = Clock::now();
  zmq_wait(std::array{&router}, wake.descriptor(), std::chrono::milliseconds(30));
  EXPECT_GE(Clock::now() - start, std::chrono::milliseconds(29));
  wake.signal();
  zmq_wait(std::array{&router}, wake.descriptor(), std::chrono::milliseconds(-1));
  zmq_wait({}, wake.descriptor(), std::chrono::milliseconds(-1));
}

// A router in a process of its own.
class OtherProcess {
 public:
  OtherProcess() {
    int ends[2];
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    const Descriptor from(ends[0]), to(ends[1]);
    process_ = ::fork();
    if (process_ == 0) {
      ZmqContext context;
      ZmqSocket router(context, Type::router);
      router.bind(kAnywhere);
      const std::string endpoint = router.endpoint();
      (void)!::write(to.get(), endpoint.data(), endpoint.size());
      for (;;) ::pause();
    }
    std::array<char, 100> text;
    const ssize_t got = ::read(from.get(), text.data(), text.size());
    EXPECT_GT(got, 0);
    endpoint_.assign(text.data(), static_cast<size_t>(std::max<ssize_t>(got, 0)));
  }
  ~OtherProcess() {
    send(SIGKILL);
    while (::waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  void send(int signal) const { ::kill(process_, signal); }
  const std::string& endpoint() const { return endpoint_; }

 private:
  pid_t process_ = -1;
  std::string endpoint_;
};

TEST(ZmqPeers, ThatAreKilledAreLost) {
  SKIP_WITHOUT_ZMQ();
  const OtherProcess other;
  ZmqContext context;
  ZmqSocket dealer(context, Type::dealer);
  ZmqSocket monitor = dealer.monitor(context);
  dealer.connect(other.endpoint());
  EXPECT_EQ(next_event(monitor), Event::ready);
  other.send(SIGKILL);
  EXPECT_EQ(next_event(monitor), Event::lost);
  EXPECT_TRUE(wait_until(monitor, [&] { return !dealer.send(message({"x"})); }));
}

TEST(ZmqPeers, ThatAreSilentAreLostAndComeBack) {
  SKIP_WITHOUT_ZMQ();
  const OtherProcess other;
  ZmqContext context;
  ZmqSocket dealer(context, Type::dealer);
  ZmqSocket monitor = dealer.monitor(context);
  dealer.connect(other.endpoint());
  EXPECT_EQ(next_event(monitor), Event::ready);
  const Clock::time_point start = Clock::now();
  other.send(SIGSTOP);
  EXPECT_EQ(next_event(monitor), Event::lost);
  EXPECT_GT(Clock::now() - start, std::chrono::seconds(5));
  other.send(SIGCONT);
  EXPECT_EQ(next_event(monitor), Event::ready);
}

}  // namespace
}  // namespace millrace
