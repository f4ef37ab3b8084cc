#include "millrace/trainer/files/sha256.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string_view>

namespace millrace {
namespace {

std::string hash_of(std::string_view text) {
  Sha256 hash;
  hash.update(std::as_bytes(std::span(text)));
  return hash.hex();
}

// Vectors of FIPS 180-4 and NIST's examples.
TEST(Sha256, KnownVectors) {
  EXPECT_EQ(hash_of(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(hash_of("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hash_of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(hash_of("abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnopqrs"
                    "mnopqrstnopqrstu"),
            "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1");
  EXPECT_EQ(hash_of(std::string(1'000'000, 'a')), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, PiecesGiveTheSameAsTheWhole) {
  std::string text;
  for (int i = 0; i < 300; ++i) text += static_cast<char>(i * 7);
  for (size_t size = 0; size <= text.size(); ++size) {
    const std::string whole = hash_of(std::string_view(text).substr(0, size));
    for (const size_t piece : {1u, 3u, 55u, 64u, 65u}) {
      Sha256 hash;
      for (size_t at = 0; at < size; at += piece) {
        hash.update(std::as_bytes(std::span(text).subspan(at, std::min<size_t>(piece, size - at))));
        (void)hash.hex();  // asking in between changes nothing
      }
      ASSERT_EQ(hash.hex(), whole) << size << " bytes in pieces of " << piece;
    }
  }
}

}  // namespace
}  // namespace millrace
