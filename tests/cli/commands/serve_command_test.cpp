// `trainer serve`, from outside. tests/serve asks a server much more.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <string>

#include "millrace/cli/serve/listening_socket.h"
#include "tests/cli/serve/client.h"
#include "tests/cli/serve/has_mhd.h"
#include "tests/cli/serve/served.h"
#include "tests/support/trainer_program.h"

namespace millrace::cli {
namespace {

using ::millrace::testing::Command;
using ::millrace::testing::CommandResult;
using ::millrace::testing::run_trainer;
using ::millrace::testing::trainer_words;
using ::testing::HasSubstr;

TEST(ServeCommand, ServesUntilASignal) {
  SKIP_WITHOUT_MHD();
  const TempFolder folder;
  train_served(folder, "m.safetensors");
  const std::string address = listen_at("127.0.0.1", 0).address;  // free again
  const std::string port = address.substr(address.rfind(':') + 1);
  Command server(trainer_words({"serve", "--model", "m.safetensors", "--port", port, "--threads", "1"}),
                 testing::CommandOptions{.folder = folder.path()});
  ASSERT_TRUE(server.wait_for_err(cat("listening at http://", address, ", 1 thread\n")));
  EXPECT_THAT(ask(connect_to(address), "GET /healthz HTTP/1.0\r\n\r\n"), HasSubstr("\r\n\r\nok\n"));
  server.send(SIGHUP);
  ASSERT_TRUE(server.wait_for_err("thread\nthe model reads a and b\n"));
  server.send(SIGTERM);
  const CommandResult ended = server.finish();
  EXPECT_EQ(ended.exit_code, 128 + SIGTERM);
  EXPECT_THAT(ended.err, HasSubstr("\nended\n"));
}

TEST(ServeCommand, SaysWhatIsWrongWithItsWords) {
  const TempFolder folder;
  const auto says = [&](std::vector<std::string> words, int code) {
    words.insert(words.begin(), "serve");
    const CommandResult result = run_trainer(std::move(words), {.folder = folder.path()});
    EXPECT_EQ(result.exit_code, code) << result.err;
    return result.err;
  };
  EXPECT_THAT(says({}, 2), HasSubstr("no model is given"));
  EXPECT_THAT(says({"--model", "-"}, 2), HasSubstr("--model - names no file"));
  EXPECT_THAT(says({"--model", "m", "--port", "70000"}, 2), HasSubstr("--port"));
  EXPECT_THAT(says({"--model", "none.safetensors", "--port", "0"}, 66), HasSubstr("none.safetensors"));
  EXPECT_THAT(says({"--model", "m", "--bind", "systemd"}, 78), HasSubstr("cannot use the socket of systemd"));
  train_served(folder, "m.safetensors");
  EXPECT_THAT(says({"--model", "m.safetensors", "--threshold", "0.3", "--port", "0"}, 2),
              HasSubstr("--threshold is for models that say yes or no"));
}

}  // namespace
}  // namespace millrace::cli
