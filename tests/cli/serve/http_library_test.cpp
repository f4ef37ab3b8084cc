#include "millrace/cli/serve/http_library.h"

#include <gtest/gtest.h>

namespace millrace::cli {
namespace {

TEST(HttpLibrary, KnowsWhichVersionsAreTooOld) {
  for (const char* const version : {"0.9.73", "0.9.75", "0.9.73.1", "0.9.100", "0.10", "1.0.0"}) {
    EXPECT_FALSE(MhdCalls::is_too_old(version)) << version;
  }
  for (const char* const version : {"0.9.72", "0.9", "0.8.100", "0.9.8", "1", "new", ""}) {
    EXPECT_TRUE(MhdCalls::is_too_old(version)) << version;
  }
}

}  // namespace
}  // namespace millrace::cli
