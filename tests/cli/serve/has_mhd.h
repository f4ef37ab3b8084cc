// Whether tests can serve: where libmicrohttpd is not there, they are skipped by this name.
#pragma once

#include <gtest/gtest.h>

#include "millrace/cli/serve/http_library.h"
#include "millrace/core/errors.h"

namespace millrace::test {

inline bool has_mhd() {
  try {
    cli::mhd();
    return true;
  } catch (const ConfigError&) {
    return false;
  }
}

}  // namespace millrace::test

#define SKIP_WITHOUT_MHD() \
  if (!millrace::test::has_mhd()) GTEST_SKIP() << "libmicrohttpd is not there: scripts/setup --optional installs it"
