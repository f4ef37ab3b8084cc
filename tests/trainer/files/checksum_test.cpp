#include "millrace/trainer/files/checksum.h"

#include <gtest/gtest.h>

#include <string_view>
#include <vector>

namespace millrace {
namespace {

std::string sum_of(std::string_view text) {
  Checksum sum;
  sum.update(std::as_bytes(std::span(text)));
  return sum.hex();
}

// As xxhsum -H3 says.
TEST(Checksum, IsXxh3) {
  EXPECT_EQ(sum_of(""), "2d06800538d394c2");
  EXPECT_EQ(sum_of("a"), "e6c632b61e964e1f");
  EXPECT_EQ(sum_of("abc"), "78af5f94892f3950");
}

TEST(Checksum, DoesNotDependOnThePieces) {
  std::string bytes(5000, '\0');
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 7 + i / 256);
  const std::string whole = sum_of(bytes);
  EXPECT_EQ(whole, "ed0146266d138bd8");
  for (const size_t piece : {1u, 63u, 64u, 1000u, 4999u}) {
    Checksum sum;
    for (size_t at = 0; at < bytes.size(); at += piece) {
      sum.update(std::as_bytes(std::span(std::string_view(bytes).substr(at, piece))));
    }
    EXPECT_EQ(sum.hex(), whole) << piece;
  }
}

TEST(Checksum, MayGoOn) {
  Checksum sum;
  sum.update(std::as_bytes(std::span("a", 1)));
  EXPECT_EQ(sum.hex(), sum_of("a"));
  sum.update({});
  sum.update(std::as_bytes(std::span("bc", 2)));
  EXPECT_EQ(sum.hex(), sum_of("abc"));
}

}  // namespace
}  // namespace millrace
