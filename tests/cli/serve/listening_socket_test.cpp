#include "millrace/cli/serve/listening_socket.h"

#include <gtest/gtest.h>

#include <string>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "tests/cli/serve/client.h"
#include "tests/support/temp_folder.h"

namespace millrace::cli {
namespace {

TEST(ListeningSocket, TellsWhereItListens) {
  const ListeningSocket socket = listen_at("127.0.0.1", 0);
  EXPECT_EQ(socket.address.substr(0, 10), "127.0.0.1:");
  EXPECT_NE(socket.address, "127.0.0.1:0");
  EXPECT_TRUE(connect_to(socket.address));
}

TEST(ListeningSocket, SaysWhyItCannotListen) {
  const ListeningSocket socket = listen_at("localhost", 0);
  const auto port = static_cast<uint16_t>(std::stoi(socket.address.substr(socket.address.rfind(':') + 1)));
  EXPECT_EQ(
      error_of<IoError>([&] { listen_at("localhost", port); }),
      cat("cannot listen at localhost:", port,
          ": Address already in use; another program listens there: choose another --port, or 0 for any free one"));
  EXPECT_EQ(error_of<ConfigError>([] { listen_at("no.such.host.invalid", 0); }).substr(0, 40),
            "cannot listen at \"no.such.host.invalid\":");
}

}  // namespace
}  // namespace millrace::cli
