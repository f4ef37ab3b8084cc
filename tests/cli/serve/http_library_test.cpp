#include "millrace/cli/serve/http_library.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/cli/serve/has_mhd.h"

namespace millrace::cli {
namespace {

TEST(HttpLibrary, IsTheSameForAll) {
  SKIP_WITHOUT_MHD();
  EXPECT_EQ(&mhd(), &mhd());
  EXPECT_GE(std::string(mhd().version()), "0.9.73");
}

}  // namespace
}  // namespace millrace::cli
