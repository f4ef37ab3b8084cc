#include "millrace/trainer/files/seal.h"

#include <gtest/gtest.h>

#include <string>

namespace millrace {
namespace {

const std::string kSealed = R"({"__metadata__":{"checkpoint":"1","checksum":"0123456789abcdef","config":""}})";

TEST(Seal, IsAtTheBeginning) {
  const size_t at = find_seal(kSealed);
  ASSERT_NE(at, std::string::npos);
  EXPECT_EQ(kSealed.substr(at, kOpenSeal.size()), "0123456789abcdef");
  EXPECT_EQ(find_seal(" " + kSealed), std::string::npos);
  EXPECT_EQ(find_seal(R"({"__metadata__":{"checkpoint":"another","checksum":"0123456789abcdef"}})"), at + 6);
  EXPECT_EQ(find_seal(R"({"__metadata__":{"a":"","checkpoint":"1","checksum":"0123456789abcdef"}})"),
            std::string::npos);
}

TEST(Seal, IsWhole) {
  for (size_t size = 0; size < kSealed.find(",\"config"); ++size) {
    EXPECT_EQ(find_seal(kSealed.substr(0, size)), std::string::npos) << size;
  }
  for (const char* digits : {"0123456789abcde", "0123456789abcdef0", "0123456789abcdeg", "0123456789ABCDEF", ""}) {
    const std::string header = std::string(R"({"__metadata__":{"checkpoint":"1","checksum":")") + digits + "\"}}";
    EXPECT_EQ(find_seal(header), std::string::npos) << digits;
  }
  EXPECT_EQ(find_seal(R"({"__metadata__":{"checkpoint":"1\"","checksum":"0123456789abcdef"}})"), std::string::npos);
}

}  // namespace
}  // namespace millrace
