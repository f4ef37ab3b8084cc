// How fast a worker sends rows. Base is a loop that sends as many bytes by ZeroMQ, in messages of the same size. Both
// sides are threads of this process and talk over loopback: once as fast as it is, and once slowed down to 1 Gbit/s, in
// a network namespace that only root can make.
#include <sched.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "bench/budgets/budget.h"
#include "bench/budgets/rows_file.h"
#include "millrace/core/text.h"
#include "millrace/input/graph/pipeline.h"
#include "millrace/trainer/config/catalog.h"
#include "millrace/trainer/files/yaml.h"
#include "millrace/trainer/input/workers.h"
#include "millrace/trainer/remote/curve_keys.h"
#include "millrace/trainer/remote/worker_server.h"

namespace millrace::bench {

namespace {

using std::chrono_literals::operator""s;

constexpr size_t kMessage = size_t{1} << 20, kUnderWay = 8;

struct Keys {
  std::string key, open, clients;  // files and a folder; empty: no keys
};

Keys keys_in(const std::string& folder) {
  Keys out{.key = folder + "/keys/one.key", .open = folder + "/keys/one.pub", .clients = folder + "/keys"};
  if (std::filesystem::exists(out.key)) return out;
  std::filesystem::create_directories(out.clients);
  write_keys(folder + "/keys/one");
  return out;
}

// Answers each message by `kMessage` bytes until a message is empty.
// Until each of `clients` has sent an empty message.
void serve(ZmqSocket& socket, size_t clients) {
  const std::string bytes(kMessage, 'x');
  for (ZmqParts parts; clients > 0;) {
    if (!socket.receive(parts)) {
      zmq_wait(std::array{&socket}, -1, 1s);
      continue;
    }
    if (parts.back().bytes().empty()) {
      --clients;
      continue;
    }
    parts.back() = ZmqPart(std::string(bytes));
    socket.send(std::move(parts));
  }
}

// Carries `bytes` over one connection, or two with keys.
void bare_loop(uint64_t bytes, const Keys& keys) {
  ZmqContext context(2), there(2);
  ZmqSocket server(there, ZmqSocket::Type::router);
  Doorkeeper door(there, server, {.keys = !keys.key.empty()});
  if (keys.key.empty()) {
    server.be_open_server();
  } else {
    server.be_server(read_secret_key(keys.key).secret);
    door.set_clients(read_client_keys(keys.clients));
  }
  server.bind("tcp://127.0.0.1:0");
  const size_t connections = keys.key.empty() ? 1 : 2;
  std::thread serves([&] { serve(server, connections); });
  std::vector<std::thread> clients;
  for (size_t i = 0; i < connections; ++i) {
    clients.emplace_back([&] {
      ZmqSocket socket(context, ZmqSocket::Type::dealer);
      if (!keys.key.empty()) socket.be_client(read_secret_key(keys.key), read_public_key(keys.open));
      socket.connect(server.endpoint());
      const auto ask = [&](std::string what) {
        for (;;) {
          ZmqParts parts;
          parts.emplace_back(what);
          if (socket.send(std::move(parts))) return;
          std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
      };
      for (size_t j = 0; j < kUnderWay; ++j) ask("more");
      uint64_t got = 0;
      for (ZmqParts parts; got < bytes / connections;) {
        if (!socket.receive(parts)) {
          zmq_wait(std::array{&socket}, -1, 1s);
          continue;
        }
        got += parts.back().bytes().size();
        ask("more");
      }
      ask("");
    });
  }
  for (std::thread& client : clients) client.join();
  serves.join();
}

Ratio workers_over_bare(const Setting& setting, const Keys& keys) {
  try {
    ZmqContext::version();
  } catch (const ConfigError&) {
    throw Skip{"libzmq is not there"};
  }
  const std::string path = rows_file(setting, "rows.bin", "");
  const Spec list = parse_yaml(
      cat("- filename_queue: {files: ", path, ", epochs: 1}\n- record_reader: {chunk_bytes: ", kMessage,
          ", bytes: ", kRowBytes, ", fields: {features: {type: float32, size: 1024}}}\n- batch: {batch_size: 256}\n"),
      "budget");
  const Catalog catalog = Catalog::builtin();
  WorkerServer server({.bind = "tcp://127.0.0.1:0",
                       .root = {},
                       .key = keys.key,
                       .clients = keys.clients,
                       .threads = 1,
                       .log = [](const std::string&) {}},
                      catalog);
  std::thread serves([&server] { server.run(); });
  WorkerOptions options;
  options.connect = {server.endpoint()};
  options.key = keys.key;
  options.server_key = keys.open;
  Executor executor(2);
  const auto with_worker = [&] {
    Pipeline pipeline(InputGraph::build(list, catalog.ops, {.workers = make_workers(options)}),
                      {.executor = &executor});
    RowBlock batch = pipeline.make_slot();
    return timed(wall_seconds, [&] {
      while (pipeline.next(batch) > 0) {
      }
    });
  };
  const Ratio out = inverse(compare(
      setting.rounds,
      [&] { return timed(wall_seconds, [&] { bare_loop(static_cast<uint64_t>(kRows) * kRowBytes, keys); }); },
      with_worker));
  server.stop();
  serves.join();
  return out;
}

// Measures on a thread in a network namespace with a slow loopback. The threads that it starts are there, too.
Ratio over_a_link(const Setting& setting, const Keys& keys) {
  constexpr char kSlowDown[] =
      "ip link set lo mtu 9000 up && tc qdisc add dev lo root tbf rate 1gbit burst 512k latency 100ms";
  const auto measure = [&] {
    if (::unshare(CLONE_NEWNET) != 0 || std::system(kSlowDown) != 0) throw Skip{"this user cannot make a network"};
    return workers_over_bare(setting, keys);
  };
  return std::async(std::launch::async, measure).get();
}

}  // namespace

void add_worker_budgets(Budgets& out) {
  const auto with_keys = [](const Setting& setting) { return keys_in(setting.folder); };
  out.push_back({"workers/link/plain", "speed of rows from a worker over ZeroMQ alone, on a link of 1 Gbit/s", 0.9,
                 true, [](const Setting& setting) { return over_a_link(setting, {}); }});
  out.push_back({"workers/link/curve", "the same, encrypted, over two connections", 0.9, true,
                 [=](const Setting& setting) { return over_a_link(setting, with_keys(setting)); }});
  out.push_back({"workers/loopback/plain", "on loopback, where both sides share the processors", 0.9, true,
                 [](const Setting& setting) { return workers_over_bare(setting, {}); }});
  out.push_back({"workers/loopback/curve", "the same, encrypted, over two connections", 0.9, true,
                 [=](const Setting& setting) { return workers_over_bare(setting, with_keys(setting)); }});
}

}  // namespace millrace::bench
