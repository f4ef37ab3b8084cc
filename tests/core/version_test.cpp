#include "millrace/version.h"

#include <gmock/gmock.h>

#include "millrace/core/cuda/backend.h"

namespace millrace {
namespace {

TEST(Version, IsThreeNumbers) {
  EXPECT_THAT(std::string(version()), testing::MatchesRegex("[0-9]+\\.[0-9]+\\.[0-9]+"));
}

TEST(Version, DescribesTheBuild) {
  const BuildDescription build = describe_build();
  EXPECT_FALSE(build.build_type.empty());
  EXPECT_THAT(build.compiler, testing::MatchesRegex("(g\\+\\+|clang) [0-9]+\\.[0-9]+\\.[0-9]+"));
  EXPECT_EQ(build.cuda, cuda::toolkit_version());
  EXPECT_THAT(build.cuda.empty() ? build.left_out : build.capabilities, testing::Contains("cuda"));
  EXPECT_THAT(build.libraries,
              testing::ElementsAre(testing::StartsWith("oneDNN "), testing::MatchesRegex("oneTBB [0-9]+\\.[0-9.]+")));
}

}  // namespace
}  // namespace millrace
