#include "millrace/version.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <string>

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
  for (const std::string library : {"zlib", "libdeflate", "zstd", "snappy", "lz4", "jpeg", "png"}) {
    // Some are named with their version.
    const auto linked = std::ranges::count_if(
        build.libraries, [&](const std::string& text) { return text.substr(0, text.find(' ')) == library; });
    EXPECT_EQ(linked + std::ranges::count(build.left_out, library), 1) << library;
  }
#ifdef MILLRACE_HAS_ZLIB
  EXPECT_THAT(build.libraries, testing::Contains(testing::MatchesRegex("zlib [0-9]+\\.[0-9.]+")));
#else
  EXPECT_THAT(build.left_out, testing::Contains("zlib"));
#endif
}

}  // namespace
}  // namespace millrace
