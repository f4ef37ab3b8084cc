#include "millrace/trainer/remote/worker_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <chrono>

#include "millrace/core/text.h"
#include "millrace/input/rows/row_codec.h"
#include "millrace/trainer/remote/messages.h"
#include "tests/support/temp_folder.h"
#include "tests/trainer/remote/remote_testing.h"

namespace millrace::testing_support {
namespace {

using namespace std::chrono_literals;
using ::testing::Contains;
using ::testing::HasSubstr;

// A trainer that says what it likes.
class Stranger {
 public:
  explicit Stranger(const std::string& endpoint)
      : socket_(context_, ZmqSocket::Type::dealer), monitor_(socket_.monitor(context_)) {
    socket_.connect(endpoint);
    for (int i = 0; i < 100 && !ready_; ++i) {
      zmq_wait(std::array{&monitor_}, -1, 100ms);
      while (const auto event = monitor_.next_event()) ready_ = event == ZmqSocket::Event::ready;
    }
    EXPECT_TRUE(ready_);
  }
  // The head of the answer; the bytes after it are kept.
  State ask(ZmqParts parts) {
    EXPECT_TRUE(socket_.send(std::move(parts)));
    ZmqParts answer;
    for (int i = 0; i < 100; ++i) {
      if (socket_.receive(answer)) {
        std::string joined;
        bytes = bytes_of(answer, joined);
        return read_message(answer);
      }
      zmq_wait(std::array{&socket_}, -1, 100ms);
    }
    ADD_FAILURE() << "no answer";
    return make_message("nothing");
  }
  State hello(uint64_t wire = kWireVersion, const std::string& decoders = decoder_versions()) {
    State told = make_message(message::kHello);
    told.set("wire", wire);
    told.set_text("decoders", decoders);
    return ask(to_parts(told));
  }
  State question(uint64_t id, const State& body) {
    State head = make_message(message::kId);
    head.set("id", id);
    ZmqParts parts = to_parts(head);
    parts.emplace_back(body.encode());
    return ask(std::move(parts));
  }

  std::string bytes;

 private:
  ZmqContext context_;
  ZmqSocket socket_, monitor_;
  bool ready_ = false;
};

class WorkerServerTest : public ::testing::Test {
 protected:
  void SetUp() override { SKIP_WITHOUT_ZMQ(); }

  State graph_of(const std::string& list, uint64_t number = 1) {
    State told = make_message(message::kGraph);
    told.set("graph", number);
    told.set_text("list", list);
    told.set("seed", 1);
    told.set("side", 0);
    told.set("bad_rows_stay", 0);
    return told;
  }

  TempFolder folder_;
};

TEST_F(WorkerServerTest, DecodesAUnit) {
  folder_.write("a.csv", "1,2\n3,4\n");
  RunningWorker worker(folder_.path());
  Stranger trainer(worker.endpoint());
  EXPECT_EQ(trainer.hello().text("is"), message::kHello);
  const State graph = trainer.ask(to_parts(graph_of(
      "[filename_queue: {files: a.csv}, csv_reader: {}, decode_csv: {fields: {x: {columns: 0-1}}}, batch: {batch_size: "
      "2}]")));
  EXPECT_EQ(graph.text("is"), message::kGraph) << (graph.has("why") ? graph.text("why") : "");
  EXPECT_EQ(graph.value("graph"), 1u);
  State decode = make_message(message::kDecode);
  decode.set("graph", 1);
  set_unit(decode, {.file = 0, .end = 8, .line = 1, .exact = true});
  const State chunk = trainer.question(17, decode);
  EXPECT_EQ(chunk.text("is"), message::kChunk);
  EXPECT_EQ(chunk.value("id"), 17u);
  Chunk made;
  const RowSpec rows{{{"x", DType::f32, Shape{2}}}};
  RowCodec::decode(trainer.bytes, std::make_shared<RowSpec>(rows), made);
  ASSERT_EQ(made.rows.size(), 2);
  EXPECT_EQ(made.rows.row<float>(0, 1)[0], 3);
  EXPECT_EQ(worker.server().counts().rows, 2u);

  set_unit(decode, {.file = 5, .end = 8});
  EXPECT_EQ(trainer.question(18, decode).text("is"), message::kFailure);
}

TEST_F(WorkerServerTest, RefusesOthers) {
  RunningWorker worker(folder_.path());
  Stranger older(worker.endpoint());
  EXPECT_THAT(older.hello(kWireVersion + 1).text("why"), HasSubstr("the worker has Millrace"));
  EXPECT_THAT(older.hello(kWireVersion, "Millrace 0.0.1").text("why"), HasSubstr("the trainer has Millrace 0.0.1"));
  Stranger hasty(worker.endpoint());
  EXPECT_EQ(hasty.ask(to_parts(make_message(message::kForget))).text("is"), message::kNo);
  Stranger talker(worker.endpoint());
  talker.hello();
  EXPECT_EQ(talker.ask(to_parts(make_message("sing"))).text("is"), message::kNo);
  ZmqParts garbage;
  garbage.emplace_back(std::string(1000, '\x7f'));
  EXPECT_EQ(talker.ask(std::move(garbage)).text("is"), message::kNo);
  EXPECT_THAT(worker.log(), Contains(HasSubstr("is not used any more")));
  // It still serves others.
  Stranger trainer(worker.endpoint());
  EXPECT_EQ(trainer.hello().text("is"), message::kHello);
}

TEST_F(WorkerServerTest, SaysWhyAGraphCannotBeBuilt) {
  RunningWorker worker(folder_.path());
  Stranger trainer(worker.endpoint());
  trainer.hello();
  const auto why = [&](const std::string& list) { return trainer.ask(to_parts(graph_of(list))).text("why"); };
  EXPECT_THAT(why("[unknown: {}]"), HasSubstr("unknown"));
  EXPECT_THAT(why("[filename_queue: {files: a.csv}, csv_reader: {}, decode_csv: {fields: {x: {columns: 0}}}, batch: "
                  "{batch_size: 1}]"),
              HasSubstr("a.csv"));
  EXPECT_THAT(why("[filename_queue: {files: /etc/passwd}, csv_reader: {}, decode_csv: {fields: {x: {columns: 0}}}, "
                  "batch: {batch_size: 1}]"),
              HasSubstr("/etc/passwd"));
  EXPECT_THAT(why("{"), HasSubstr("the trainer's input"));
}

TEST_F(WorkerServerTest, FilesOfTheRootAndNoOthers) {
  folder_.write("a.csv", "1,2\n");
  RunningWorker worker(folder_.path());
  Stranger trainer(worker.endpoint());
  trainer.hello();
  State look = make_message(message::kFile);
  look.set_text("what", "read");
  look.set_text("path", "a.csv");
  look.set("range", {2, 100});
  EXPECT_EQ(trainer.question(3, look).text("is"), message::kFile);
  EXPECT_EQ(trainer.bytes, "2\n");
  look.set_text("path", "/etc/passwd");
  EXPECT_EQ(trainer.question(4, look).text("is"), message::kFailure);
}

TEST_F(WorkerServerTest, WithoutKeysItListensHereOnly) {
  const Catalog catalog = Catalog::builtin();
  const auto binds = [&](const WorkerSettings& settings) { const WorkerServer server(settings, catalog); };
  const WorkerSettings open{.bind = "tcp://0.0.0.0:0", .root = folder_.path(), .log = [](const std::string&) {}};
  EXPECT_THAT(error_of<ConfigError>([&] { binds(open); }), HasSubstr("there are no keys"));
  WorkerSettings meant = open;
  meant.insecure = true;
  EXPECT_NO_THROW(binds(meant));
}

TEST_F(WorkerServerTest, OnlyClientsWithAKeyComeIn) {
  const auto keys = [&](const std::string& name) {
    write_keys(folder_.path(name));
    return read_secret_key(folder_.path(name + ".key"));
  };
  keys("worker");
  const CurveKeys friend_keys = keys("friend");
  const CurveKeys stranger_keys = keys("stranger");
  std::filesystem::create_directory(folder_.path("clients"));
  std::filesystem::copy(folder_.path("friend.pub"), folder_.path("clients/friend.pub"));
  RunningWorker worker(WorkerSettings{.bind = "tcp://127.0.0.1:0",
                                      .root = folder_.path(),
                                      .key = folder_.path("worker.key"),
                                      .clients = folder_.path("clients"),
                                      .log = {}});
  const std::string open = read_public_key(folder_.path("worker.pub"));
  const auto comes_in = [&](const CurveKeys& own) {
    ZmqContext context;
    ZmqSocket socket(context, ZmqSocket::Type::dealer);
    socket.be_client(own, open);
    ZmqSocket monitor = socket.monitor(context);
    socket.connect(worker.endpoint());
    for (int i = 0; i < 50; ++i) {
      zmq_wait(std::array{&monitor}, -1, 100ms);
      if (const auto event = monitor.next_event()) return event == ZmqSocket::Event::ready;
    }
    return false;
  };
  EXPECT_TRUE(comes_in(friend_keys));
  EXPECT_FALSE(comes_in(stranger_keys));
  std::filesystem::copy(folder_.path("stranger.pub"), folder_.path("clients/stranger.pub"));
  worker.server().reload();
  bool in = false;
  for (int i = 0; i < 20 && !in; ++i) in = comes_in(stranger_keys);
  EXPECT_TRUE(in);
}

}  // namespace
}  // namespace millrace::testing_support
