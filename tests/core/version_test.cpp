#include "millrace/version.h"

#include <gmock/gmock.h>

#include <algorithm>

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
  ASSERT_GE(build.libraries.size(), 2u);
  EXPECT_THAT(build.libraries[0], testing::StartsWith("oneDNN "));
  EXPECT_THAT(build.libraries[1], testing::MatchesRegex("oneTBB [0-9]+\\.[0-9.]+"));
}

TEST(Version, EveryLibraryOfFormatsIsLinkedOrLeftOut) {
  const BuildDescription build = describe_build();
  for (const char* library : {"zlib", "libdeflate", "zstd", "snappy", "lz4", "jpeg", "png"}) {
    EXPECT_EQ(std::ranges::count(build.libraries, library) + std::ranges::count(build.left_out, library), 1) << library;
  }
#ifdef MILLRACE_HAS_ZLIB
  EXPECT_THAT(build.libraries, testing::Contains("zlib"));
#else
  EXPECT_THAT(build.left_out, testing::Contains("zlib"));
#endif
}

}  // namespace
}  // namespace millrace
