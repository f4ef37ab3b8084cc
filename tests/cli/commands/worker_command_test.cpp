// `trainer worker`, from outside.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <memory>
#include <string>

#include "millrace/core/text.h"
#include "tests/support/temp_folder.h"
#include "tests/support/trainer_program.h"
#include "tests/trainer/remote/has_zmq.h"

namespace millrace::cli {
namespace {

using ::millrace::testing::Command;
using ::millrace::testing::CommandResult;
using ::millrace::testing::run_trainer;
using ::millrace::testing::trainer_words;
using ::testing::HasSubstr;

class WorkerCommandTest : public ::testing::Test {
 protected:
  void SetUp() override { testing::write_small_data(folder_); }

  CommandResult run(std::vector<std::string> words) {
    return run_trainer(std::move(words), {.folder = folder_.path()});
  }
  // A worker of this folder; `port` receives where it listens.
  std::unique_ptr<Command> start(std::string& endpoint, std::vector<std::string> more = {}) {
    more.insert(more.begin(), {"worker", "--bind", endpoint});
    auto worker =
        std::make_unique<Command>(trainer_words(std::move(more)), testing::CommandOptions{.folder = folder_.path()});
    EXPECT_TRUE(worker->wait_for_err(", "));
    return worker;
  }
  std::string weights(const CommandResult& result) {
    EXPECT_EQ(result.exit_code, 0) << result.err;
    const size_t at = result.out.find("weights: ");
    return at == std::string::npos ? cat("none in ", result.out) : result.out.substr(at, 9 + 64);
  }

  const TempFolder folder_;
};

TEST_F(WorkerCommandTest, TrainsToTheSameWeights) {
  SKIP_WITHOUT_ZMQ();
  const std::string expected = weights(run({"--config", "small.yaml", "--set", "save=m.safetensors"}));
  std::string endpoint = "tcp://127.0.0.1:25599";
  const auto worker = start(endpoint);
  const auto remote = [&](const char* fallback) {
    return run({"--config", "small.yaml", "--set", "save=r.safetensors", "--set",
                cat("workers={connect: '", endpoint, "', fallback: ", fallback, '}')});
  };
  EXPECT_EQ(weights(remote("local")), expected);
  EXPECT_EQ(weights(remote("wait")), expected);
  worker->send(SIGTERM);
  const CommandResult ended = worker->finish();
  EXPECT_EQ(ended.exit_code, 128 + SIGTERM);
  EXPECT_THAT(ended.err, HasSubstr(cat("listening at ", endpoint)));
  EXPECT_THAT(ended.err, HasSubstr("a trainer at 127.0.0.1 has connected"));
  EXPECT_EQ(weights(remote("local")), expected) << "without a worker";
}

TEST_F(WorkerCommandTest, SaysWhatIsWrongWithItsWords) {
  const auto says = [&](std::vector<std::string> words) {
    words.insert(words.begin(), "worker");
    const CommandResult result = run(std::move(words));
    EXPECT_EQ(result.exit_code, 2) << result.err;
    return result.err;
  };
  EXPECT_THAT(says({}), HasSubstr("no endpoint is given"));
  EXPECT_THAT(says({"--bind", "localhost"}),
              HasSubstr("--bind: expected tcp://ADDRESS:PORT or systemd, got \"localhost\""));
  EXPECT_THAT(says({"--bind", "tcp://127.0.0.1:0", "--key", "a.key"}),
              HasSubstr("--key and --clients need each other"));
}

TEST_F(WorkerCommandTest, OtherMachinesNeedKeysOrAWord) {
  SKIP_WITHOUT_ZMQ();
  const CommandResult result = run({"worker", "--bind", "tcp://0.0.0.0:0"});
  EXPECT_EQ(result.exit_code, 78);
  EXPECT_THAT(result.err, HasSubstr("tcp://0.0.0.0:0 can be reached from other machines, and there are no keys"));
  const CommandResult socket = run({"worker", "--bind", "systemd"});
  EXPECT_EQ(socket.exit_code, 78);
  EXPECT_THAT(socket.err, HasSubstr("cannot use the socket of systemd: this process got none"));
  const CommandResult root = run({"worker", "--bind", "tcp://127.0.0.1:0", "--root", "none"});
  EXPECT_EQ(root.exit_code, 66) << root.err;
}

}  // namespace
}  // namespace millrace::cli
