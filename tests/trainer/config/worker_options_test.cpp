#include "millrace/trainer/config/worker_options.h"

#include <gtest/gtest.h>

#include "millrace/trainer/files/yaml.h"
#include "tests/support/temp_folder.h"

namespace millrace {
namespace {

WorkerOptions read(const std::string& text) {
  Spec node = parse_yaml(text, "f.yaml");
  node.set_path("workers");
  return OptionType<WorkerOptions>::read(node);
}
std::string rejects(const std::string& text) {
  return error_of<ConfigError>([&] { read(text); });
}

TEST(WorkerOptions, ReadsEveryKey) {
  const WorkerOptions all = read(
      "{connect: ['tcp://a:1', 'tcp://b:2'], key: a.key, server_key: w.pub, ahead: 3, fallback: wait, insecure: true}");
  EXPECT_EQ(all.connect, (std::vector<std::string>{"tcp://a:1", "tcp://b:2"}));
  EXPECT_EQ(all.key, "a.key");
  EXPECT_EQ(all.server_key, "w.pub");
  EXPECT_EQ(all.ahead, 3);
  EXPECT_EQ(all.fallback, WorkerFallback::wait);
  EXPECT_TRUE(all.insecure);
  const WorkerOptions one = read("{connect: 'tcp://127.0.0.1:5599'}");
  EXPECT_EQ(one.connect, std::vector<std::string>{"tcp://127.0.0.1:5599"});
  EXPECT_EQ(one.ahead, 8);
  EXPECT_EQ(one.fallback, WorkerFallback::local);
  EXPECT_FALSE(one.insecure);
}

TEST(WorkerOptions, RejectsWhatMakesNoSense) {
  EXPECT_EQ(rejects("{ahead: 3}"),
            "f.yaml:1:1: workers: the key connect is required (text or list); connect: [\"tcp://host:5599\"]: where "
            "trainer worker listens, one endpoint for each worker");
  EXPECT_EQ(rejects("{connect: []}"),
            "f.yaml:1:11: workers.connect: expected at least one endpoint; such as tcp://host:5599");
  EXPECT_EQ(rejects("{connect: 'host:5599'}"),
            "f.yaml:1:11: workers.connect: expected tcp://HOST:PORT, got \"host:5599\"");
  EXPECT_EQ(rejects("{connect: 'tcp://host'}"),
            "f.yaml:1:11: workers.connect: expected tcp://HOST:PORT, got \"tcp://host\"");
  EXPECT_EQ(rejects("{connect: 'tcp://h:1', key: a.key}"),
            "f.yaml:1:29: workers.key: key and server_key need each other");
  EXPECT_EQ(rejects("{connect: 'tcp://h:1', ahead: 65, insecure: true}"),
            "f.yaml:1:31: workers.ahead: expected at least 1 and at most 64, got 65");
}

TEST(WorkerOptions, ThereIsALimitOfUnits) {
  std::string many;
  for (int i = 0; i < 17; ++i) many += cat(i == 0 ? "" : ", ", "'tcp://127.0.0.1:", i + 1, "'");
  EXPECT_EQ(rejects(cat("{ahead: 64, connect: [", many, "]}")),
            "f.yaml:1:22: workers.connect: 17 endpoints with ahead: 64 are more than 1024 units at once; lower ahead");
}

TEST(WorkerOptions, OtherMachinesNeedKeysOrAWord) {
  EXPECT_EQ(
      rejects("{connect: ['tcp://127.0.0.1:1', 'tcp://host:1']}"),
      "f.yaml:1:11: workers.connect: tcp://host:1 is on another machine, and there are no keys: anyone on the way "
      "could read and change the rows; make keys by trainer keys, and set key and server_key; or say insecure: "
      "true");
  EXPECT_TRUE(read("{connect: 'tcp://host:1', insecure: true}").insecure);
  for (const char* here : {"tcp://localhost:1", "tcp://127.3.2.1:1", "tcp://[::1]:1"}) EXPECT_TRUE(is_loopback(here));
  for (const char* there :
       {"tcp://localhost.com:1", "tcp://0.0.0.0:1", "tcp://127.evil.example:1", "tcp://*:1", "ipc://127.0.0.1"}) {
    EXPECT_FALSE(is_loopback(there)) << there;
  }
}

}  // namespace
}  // namespace millrace
