#include "millrace/trainer/remote/zmq_library.h"

#include <gtest/gtest.h>

#include <cerrno>

#include "tests/trainer/remote/has_zmq.h"

namespace millrace {
namespace {

TEST(ZmqLibrary, TellsItsVersion) {
  SKIP_WITHOUT_ZMQ();
  EXPECT_EQ(zmq().version_text().substr(0, 2), "4.");
}

TEST(ZmqLibrary, HasTextsForAllErrors) {
  SKIP_WITHOUT_ZMQ();
  EXPECT_EQ(zmq().text_of(EADDRINUSE), "Address already in use");
  EXPECT_EQ(zmq().text_of(ZmqCalls::kTerminated), "Context was terminated");
  EXPECT_EQ(zmq().text_of(ZmqCalls::kNoProtocol), "The protocol is not compatible with the socket type");
}

}  // namespace
}  // namespace millrace
