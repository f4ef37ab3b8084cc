// Whether tests can use ZeroMQ: where libzmq is not there, they are skipped by this name.
#pragma once

#include <gtest/gtest.h>

#include "millrace/core/errors.h"
#include "millrace/trainer/remote/zmq_library.h"

namespace millrace::test {

inline bool has_zmq() {
  try {
    zmq();
    return true;
  } catch (const ConfigError&) {
    return false;
  }
}

}  // namespace millrace::test

#define SKIP_WITHOUT_ZMQ() \
  if (!millrace::test::has_zmq()) GTEST_SKIP() << "libzmq is not there: scripts/setup --optional installs it"
