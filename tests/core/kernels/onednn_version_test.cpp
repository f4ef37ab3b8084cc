#include "millrace/core/kernels/onednn_version.h"

#include <gmock/gmock.h>

namespace millrace {
namespace {

TEST(OneDnnVersion, HasThreeNumbers) {
  EXPECT_THAT(onednn_version(), testing::MatchesRegex("oneDNN [0-9]+\\.[0-9]+\\.[0-9]+"));
}

}  // namespace
}  // namespace millrace
