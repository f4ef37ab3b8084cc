#include "millrace/trainer/remote/curve_keys.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <memory>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "tests/support/temp_folder.h"
#include "tests/trainer/remote/has_zmq.h"
#include "tests/trainer/remote/socket_testing.h"

namespace millrace {
namespace {

namespace fs = std::filesystem;

using Event = ZmqSocket::Event;
using Type = ZmqSocket::Type;
using test::message;
using test::next_event;
using test::next_message;
using test::RawPeer;
using test::wait_until;
using ::testing::ElementsAre;
using Texts = std::vector<std::string>;

constexpr char kOpen[] = "rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7";
constexpr char kSecret[] = "JTKVSB%%)wK0E.X)V>+}o?pNmC{O&4W4b!Ni{Lh6";

class KeyFiles : public ::testing::Test {
 protected:
  std::string write(std::string_view name, std::string_view text, mode_t mode = 0600) {
    const std::string path = folder_.write(name, text);
    EXPECT_EQ(::chmod(path.c_str(), mode), 0);
    return path;
  }
  static mode_t mode_of(const std::string& path) {
    struct stat status {};
    EXPECT_EQ(::stat(path.c_str(), &status), 0);
    return status.st_mode & 07777;
  }

  const TempFolder folder_;
};

TEST_F(KeyFiles, AreMadeAndRead) {
  SKIP_WITHOUT_ZMQ();
  write_keys(folder_.path("ann"));
  EXPECT_EQ(mode_of(folder_.path("ann.key")), 0600u);
  const CurveKeys keys = read_secret_key(folder_.path("ann.key"));
  EXPECT_EQ(read_public_key(folder_.path("ann.pub")), keys.open);
  EXPECT_EQ(TempFolder::read(folder_.path("ann.key")),
            "# Secret key ann of Millrace: keep it where it is, and give others ann.pub.\n" + keys.secret + "\n");
  EXPECT_EQ(TempFolder::read(folder_.path("ann.pub")),
            "# Public key ann of Millrace: for those who are to know it.\n" + keys.open + "\n");
}

TEST_F(KeyFiles, ReplaceNoneThatAreThere) {
  SKIP_WITHOUT_ZMQ();
  write("a.key", "mine");
  EXPECT_EQ(error_of<IoError>([&] { write_keys(folder_.path("a")); }),
            folder_.path("a.key") + ": cannot write: File exists; give another name, or move the old keys away");
  EXPECT_EQ(TempFolder::read(folder_.path("a.key")), "mine");
  EXPECT_FALSE(fs::exists(folder_.path("a.pub")));
  write("b.pub", "mine");
  EXPECT_EQ(error_of<IoError>([&] { write_keys(folder_.path("b")); }),
            folder_.path("b.pub") + ": cannot write: File exists; give another name, or move the old keys away");
  EXPECT_FALSE(fs::exists(folder_.path("b.key")));
  fs::create_symlink(folder_.path("elsewhere"), folder_.path("c.key"));
  EXPECT_THROW(write_keys(folder_.path("c")), IoError);
  EXPECT_FALSE(fs::exists(folder_.path("elsewhere")));
  EXPECT_EQ(error_of<IoError>([&] { write_keys(folder_.path("none/d")); }),
            cat(folder_.path("none/d.key"), ": cannot write: No such file or directory; make the folder ",
                quote(folder_.path("none"), 300), " first"));
}

TEST_F(KeyFiles, AreReadAsEditorsLeaveThem) {
  SKIP_WITHOUT_ZMQ();
  EXPECT_EQ(read_secret_key(write("crlf.key", cat("# Secret key\r\n\r\n", kSecret, "\r\n"))).open, kOpen);
  EXPECT_EQ(read_public_key(write("bare.pub", kOpen)), kOpen);
}

TEST_F(KeyFiles, OfTheOtherSortAreRefused) {
  const auto secret_error = [](const std::string& file) {
    return error_of<ConfigError>([&] { read_secret_key(file); });
  };
  const auto public_error = [](const std::string& file) {
    return error_of<ConfigError>([&] { read_public_key(file); });
  };
  const std::string secret = write("a.key", cat("# Secret key a\n", kSecret, '\n'));
  const std::string open = write("a.pub", cat("# Public key a\n", kOpen, '\n'));
  EXPECT_EQ(secret_error(open), open + ": expected a secret key, got a public one; give the file that ends in .key");
  EXPECT_EQ(public_error(secret),
            secret + ": expected a public key, got a secret one; give the file that ends in .pub");
  // Whatever their names are.
  fs::rename(open, folder_.path("b.key"));
  fs::rename(secret, folder_.path("b.pub"));
  EXPECT_EQ(secret_error(folder_.path("b.key")),
            folder_.path("b.key") + ": expected a secret key, got a public one; give the file that ends in .key");
  EXPECT_EQ(public_error(folder_.path("b.pub")),
            folder_.path("b.pub") + ": expected a public key, got a secret one; give the file that ends in .pub");
}

TEST_F(KeyFiles, OfOthersAreRefused) {
  SKIP_WITHOUT_ZMQ();
  for (const mode_t mode : {0640u, 0604u, 0620u, 0602u, 0644u}) {
    const std::string path = write("a.key", kSecret, mode);
    EXPECT_EQ(error_of<ConfigError>([&] { read_secret_key(path); }),
              cat(path, ": other users can read or change this secret key; chmod 600 ", path));
  }
  for (const mode_t mode : {0600u, 0400u, 0700u}) {
    EXPECT_EQ(read_secret_key(write("a.key", kSecret, mode)).open, kOpen);
  }
  EXPECT_EQ(read_public_key(write("a.pub", kOpen, 0666)), kOpen);
}

TEST_F(KeyFiles, WithoutAKeyAreRefused) {
  const std::string hint = "; trainer keys --out NAME makes keys";
  const auto error = [](const std::string& file) { return error_of<Error>([&] { read_public_key(file); }); };
  const std::string path = folder_.path("a.pub");
  EXPECT_THROW(read_public_key(path), MissingError);
  EXPECT_EQ(error(path), path + ": cannot read the key: No such file or directory" + hint);
  for (const std::string& text : {std::string(), std::string("# Public key\n"), std::string(39, '0'),
                                  std::string(41, '0'), std::string(10000, 'x'), cat(' ', kOpen)}) {
    write("a.pub", text);
    EXPECT_EQ(error(path), path + ": no key is in the file" + hint);
  }
  write("a.pub", cat(kOpen, '\n', kOpen, '\n'));
  EXPECT_EQ(error(path), path + ": more than one key is in the file" + hint);
  EXPECT_EQ(error(folder_.path()), folder_.path() + ": expected a file with a key" + hint);
  const std::string pipe = folder_.path("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(error(pipe), pipe + ": expected a file with a key" + hint);
}

TEST_F(KeyFiles, OfClientsAreThoseOfAFolder) {
  const std::string other = "JTKVSB%%)wK0E.X)V>+}o?pNmC{O&4W4b!Ni{Lh6";
  const std::string hint = "; put the file NAME.pub of each client there";
  EXPECT_EQ(error_of<ConfigError>([&] { read_client_keys(folder_.path()); }),
            folder_.path() + ": no keys of clients are in the folder" + hint);
  write("b.pub", kOpen);
  write("a.pub", other);
  write("a.key", "not looked at");
  write(".c.pub", "hidden");
  EXPECT_EQ(read_client_keys(folder_.path()), (Texts{other, kOpen}));
  write("c.pub", "no key");
  EXPECT_EQ(error_of<ConfigError>([&] { read_client_keys(folder_.path()); }),
            folder_.path("c.pub") + ": no key is in the file; trainer keys --out NAME makes keys");
  EXPECT_EQ(error_of<MissingError>([&] { read_client_keys(folder_.path("none")); }),
            folder_.path("none") + ": cannot read the folder: No such file or directory" + hint);
}

class DoorkeeperTest : public ::testing::Test {
 protected:
  void SetUp() override {
    SKIP_WITHOUT_ZMQ();
    begin();
  }
  void begin() {
    door_.reset();
    server_.reset();
    context_ = std::make_unique<ZmqContext>(2);
    server_ = std::make_unique<ZmqSocket>(*context_, Type::router);
    server_keys_ = ZmqContext::make_keys();
  }

  void open_server(bool keys, size_t most_peers = 1000) {
    door_ = std::make_unique<Doorkeeper>(
        *context_, *server_,
        Doorkeeper::Settings{.keys = keys, .most_peers = most_peers, .log = [this](const std::string& line) {
                               const MutexLock lock(mutex_);
                               log_.push_back(line);
                             }});
    if (keys) server_->be_server(server_keys_.secret);
    if (!keys) server_->be_open_server();
    server_->bind("tcp://127.0.0.1:*");
  }
  Texts log() {
    const MutexLock lock(mutex_);
    return log_;
  }
  bool peers_are(size_t count) {
    return wait_until(*server_, [&] { return door_->peers() == count; });
  }

  struct Client {
    ZmqSocket socket, monitor;
    explicit Client(ZmqContext& context) : socket(context, Type::dealer), monitor(socket.monitor(context)) {}
  };
  std::unique_ptr<Client> client(const std::optional<CurveKeys>& keys = {}, const std::string& server_key = {}) {
    auto out = std::make_unique<Client>(*context_);
    if (keys) out->socket.be_client(*keys, server_key.empty() ? server_keys_.open : server_key);
    out->socket.connect(server_->endpoint());
    return out;
  }
  void expect_to_talk(Client& one) {
    EXPECT_TRUE(one.socket.send(message({"hello"})));
    const Texts got = next_message(*server_);
    EXPECT_THAT(got, ElementsAre(::testing::_, "hello"));
    EXPECT_TRUE(server_->send(message({got[0], std::string(1 << 20, 'x')})));
    EXPECT_THAT(next_message(one.socket), ElementsAre(std::string(1 << 20, 'x')));
  }

  std::unique_ptr<ZmqContext> context_;
  std::unique_ptr<ZmqSocket> server_;
  std::unique_ptr<Doorkeeper> door_;
  CurveKeys server_keys_;
  Mutex mutex_;
  Texts log_ MILLRACE_GUARDED_BY(mutex_);
};

TEST_F(DoorkeeperTest, LetsClientsWithKnownKeysIn) {
  open_server(true);
  const CurveKeys ann = ZmqContext::make_keys(), bob = ZmqContext::make_keys();
  door_->set_clients({bob.open, ann.open});
  const auto first = client(ann);
  EXPECT_EQ(next_event(first->monitor), Event::ready);
  expect_to_talk(*first);
  const auto second = client(bob);
  EXPECT_EQ(next_event(second->monitor), Event::ready);
  expect_to_talk(*second);
  EXPECT_THAT(log(), ElementsAre());
  EXPECT_EQ(door_->peers(), 2u);
  // The largest frame, which is longer on its way.
  EXPECT_TRUE(first->socket.send(message({std::string(ZmqSocket::kMostFrameBytes, 'x')})));
  EXPECT_EQ(next_message(*server_).back().size(), ZmqSocket::kMostFrameBytes);
}

TEST_F(DoorkeeperTest, RefusesOthersAndSaysSoOnce) {
  open_server(true);
  const CurveKeys ann = ZmqContext::make_keys(), stranger = ZmqContext::make_keys();
  EXPECT_EQ(next_event(client(ann)->monitor), Event::refused) << "nobody is known yet";
  door_->set_clients({ann.open});
  for (int i = 0; i < 3; ++i) {
    const auto other = client(stranger);
    EXPECT_EQ(next_event(other->monitor), Event::refused);
    EXPECT_FALSE(other->socket.send(message({"x"})));
  }
  const std::string line = "refused 127.0.0.1: its key is not among the clients' keys";
  EXPECT_THAT(log(), ElementsAre(line, line)) << "once for each list of clients";
  EXPECT_EQ(next_event(client(ann)->monitor), Event::ready);
}

TEST_F(DoorkeeperTest, AClientThatKnowsAnotherServerIsRefused) {
  open_server(true);
  const CurveKeys ann = ZmqContext::make_keys();
  door_->set_clients({ann.open});
  EXPECT_EQ(next_event(client(ann, ZmqContext::make_keys().open)->monitor), Event::refused);
  EXPECT_EQ(next_event(client()->monitor), Event::refused) << "without keys";
  EXPECT_THAT(log(), ElementsAre());
  const auto known = client(ann);
  EXPECT_EQ(next_event(known->monitor), Event::ready);
  expect_to_talk(*known);
}

TEST_F(DoorkeeperTest, AServerWithoutKeysTakesNone) {
  open_server(false);
  EXPECT_EQ(next_event(client(ZmqContext::make_keys())->monitor), Event::refused);
  const auto open = client();
  EXPECT_EQ(next_event(open->monitor), Event::ready);
  expect_to_talk(*open);
}

TEST_F(DoorkeeperTest, RefusesMorePeersThanThereIsRoomFor) {
  for (const bool keys : {true, false}) {
    begin();
    open_server(keys, 2);
    const auto own = keys ? std::optional(ZmqContext::make_keys()) : std::nullopt;
    if (keys) door_->set_clients({own->open});
    auto first = client(own), second = client(own);
    EXPECT_EQ(next_event(first->monitor), Event::ready);
    EXPECT_EQ(next_event(second->monitor), Event::ready);
    EXPECT_TRUE(peers_are(2));
    EXPECT_EQ(next_event(client(own)->monitor), Event::refused);
    EXPECT_EQ(next_event(client(own)->monitor), Event::refused);
    expect_to_talk(*first);
    first.reset();
    EXPECT_TRUE(peers_are(1));
    const auto third = client(own);
    EXPECT_EQ(next_event(third->monitor), Event::ready);
    expect_to_talk(*third);
    expect_to_talk(*second);
  }
  const std::string line = "refused 127.0.0.1: there is room for 2 peers only";
  EXPECT_THAT(log(), ElementsAre(line, line)) << "one for each Doorkeeper";
}

TEST_F(DoorkeeperTest, StrangersTakeNoRoom) {
  open_server(true, 1);
  const CurveKeys ann = ZmqContext::make_keys();
  door_->set_clients({ann.open});
  std::vector<std::unique_ptr<RawPeer>> strangers;
  for (int i = 0; i < 20; ++i) {
    strangers.push_back(std::make_unique<RawPeer>(server_->endpoint()));
    EXPECT_TRUE(strangers.back()->send(RawPeer::greeting("CURVE")));
    EXPECT_TRUE(strangers.back()->wait_for("CURVE"));
    RawPeer(server_->endpoint()).send("GET / HTTP/1.1\r\n\r\n");
  }
  EXPECT_EQ(door_->peers(), 0u);
  const auto known = client(ann);
  EXPECT_EQ(next_event(known->monitor), Event::ready);
  EXPECT_EQ(next_event(client(ann)->monitor), Event::refused);
  EXPECT_EQ(door_->peers(), 1u);
  EXPECT_THAT(log(), ElementsAre("refused 127.0.0.1: there is room for 1 peer only"));
}

// Peers that leave before their handshake is done take no room for long.
TEST_F(DoorkeeperTest, PeersThatLeaveGiveTheirRoomBack) {
  open_server(false, 3);
  for (int i = 0; i < 50; ++i) {
    {
      RawPeer peer(server_->endpoint());
      EXPECT_TRUE(peer.send(RawPeer::greeting("NULL")));
      EXPECT_TRUE(peer.wait_for("READY")) << "it was let in";
      if (i % 2 == 0) peer.shake_hands();
    }
    EXPECT_TRUE(peers_are(0));
  }
  EXPECT_THAT(log(), ElementsAre());
}

// A handshake ends in time, and with it the room that a peer takes.
TEST_F(DoorkeeperTest, APeerThatDoesNotEndItsHandshakeIsDropped) {
  open_server(false, 1);
  RawPeer peer(server_->endpoint()), other(server_->endpoint());
  EXPECT_TRUE(peer.send(RawPeer::greeting("NULL")));
  EXPECT_TRUE(peer.wait_for("READY"));
  EXPECT_TRUE(other.send(RawPeer::greeting("NULL")));
  EXPECT_TRUE(other.wait_for("ERROR"));
  EXPECT_TRUE(peer.wait_for_end());
  EXPECT_TRUE(other.wait_for_end());
  EXPECT_TRUE(peers_are(0));
  EXPECT_EQ(next_event(client()->monitor), Event::ready);
}

TEST_F(DoorkeeperTest, RemembersSomeThousandAddresses) {
  open_server(false, 0);
  for (int i = 0; i < 4200; ++i) {
    RawPeer peer(server_->endpoint(), cat("127.1.", i / 250, '.', 1 + i % 250).c_str());
    EXPECT_TRUE(peer.send(RawPeer::greeting("NULL")));
    EXPECT_TRUE(peer.wait_for("ERROR"));
  }
  const Texts lines = log();
  ASSERT_EQ(lines.size(), 4097u);
  EXPECT_EQ(lines[0], "refused 127.1.0.1: there is room for 0 peers only");
  EXPECT_EQ(lines.back(), "refused peers from more than 4096 addresses; no more of them are told");
}

}  // namespace
}  // namespace millrace
