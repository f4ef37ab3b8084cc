#include "millrace/core/crc32.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace millrace {
namespace {

std::string some_bytes(size_t size) {
  std::string out(size, '\0');
  for (size_t i = 0; i < size; ++i) out[i] = static_cast<char>((i * i * 31 + i * 7) & 0xff);
  return out;
}

// The definition, a bit at a time.
uint32_t slow_crc32(std::string_view bytes, uint32_t polynomial = 0xedb88320) {
  uint32_t crc = 0xffffffff;
  for (const char byte : bytes) {
    crc ^= static_cast<unsigned char>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? polynomial : 0);
  }
  return ~crc;
}

// As in every catalogue of checksums.
TEST(Crc32, OfTheUsualExample) { EXPECT_EQ(crc32_of("123456789"), 0xcbf43926); }

TEST(Crc32, OfNothing) { EXPECT_EQ(crc32_of(""), 0u); }

TEST(Crc32, IsTheDefinition) {
  for (size_t size = 0; size < 70; ++size) EXPECT_EQ(crc32_of(some_bytes(size)), slow_crc32(some_bytes(size))) << size;
}

TEST(Crc32, GoesOnAnywhere) {
  const std::string bytes = some_bytes(100);
  for (size_t cut = 0; cut <= bytes.size(); ++cut) {
    EXPECT_EQ(crc32_of(bytes.substr(cut), crc32_of(bytes.substr(0, cut))), crc32_of(bytes)) << cut;
  }
}

TEST(Crc32, PartsAreJoined) {
  const std::string bytes = some_bytes(3000);
  for (const size_t cut : std::vector<size_t>{0, 1, 7, 8, 255, 1024, 2999, 3000}) {
    const uint32_t first = crc32_of(bytes.substr(0, cut)), second = crc32_of(bytes.substr(cut));
    EXPECT_EQ(crc32_joined(first, second, bytes.size() - cut), crc32_of(bytes)) << cut;
  }
}

// As in RFC 3720.
TEST(Crc32, CastagnolisOfTheUsualExamples) {
  EXPECT_EQ(crc32c_of("123456789"), 0xe3069283);
  EXPECT_EQ(crc32c_of(std::string(32, '\0')), 0x8a9136aa);
  EXPECT_EQ(masked_crc32c("123456789"), 0xc78ab0e5);
}

TEST(Crc32, CastagnolisIsTheDefinitionOnEveryProcessor) {
  for (size_t size = 0; size < 70; ++size) {
    const std::string bytes = some_bytes(size);
    EXPECT_EQ(crc32c_by_tables(bytes), slow_crc32(bytes, 0x82f63b78)) << size;
    EXPECT_EQ(crc32c_of(bytes), crc32c_by_tables(bytes)) << size;
  }
}

}  // namespace
}  // namespace millrace
