#include "millrace/input/compressed/compression.h"

#include <gtest/gtest.h>

#include "millrace/core/errors.h"
#include "tests/input/compressed/compressing.h"

namespace millrace {
namespace {

using namespace std::string_view_literals;

TEST(CompressionOf, KnowsFilesByTheirFirstBytes) {
  EXPECT_EQ(compression_of("\x1f\x8b\x08\x00"sv), Compression::gzip);
  EXPECT_EQ(compression_of("\x1f\x8b\x08\x1f"sv), Compression::gzip);
  EXPECT_EQ(compression_of("\x28\xb5\x2f\xfd"sv), Compression::zstd);
  EXPECT_EQ(compression_of("\x50\x2a\x4d\x18"sv), Compression::zstd) << "a skippable frame";
  EXPECT_EQ(compression_of("\x5f\x2a\x4d\x18"sv), Compression::zstd);
  for (const std::string_view other :
       {""sv, "\x1f\x8b\x08"sv, "\x1f\x8b\x08\x20"sv, "\x28\xb5\x2f"sv, "\x60\x2a\x4d\x18"sv, "a,b\n"sv, "BZh9"sv}) {
    EXPECT_EQ(compression_of(other), Compression::none) << other;
  }
}

TEST(CompressionOf, ABeginningTellsWhetherMoreMustBeSeen) {
  for (const std::string_view start : {""sv, "\x1f"sv, "\x1f\x8b\x08"sv, "\x28"sv, "\x28\xb5\x2f"sv, "P"sv, "P*M"sv}) {
    EXPECT_TRUE(may_be_compressed(start)) << start;
  }
  for (const std::string_view start : {"\x1f\x8b\x08\x00"sv, "1"sv, "(a"sv, "Pa"sv, "P*Ma"sv}) {
    EXPECT_FALSE(may_be_compressed(start)) << start;
  }
}

TEST(CompressionOf, TheNameOfWhatIsInAFile) {
  EXPECT_EQ(without_compression("d/a.csv.gz"), "d/a.csv");
  EXPECT_EQ(without_compression("a.csv.zst"), "a.csv");
  EXPECT_EQ(without_compression("a.csv"), "a.csv");
  EXPECT_EQ(without_compression("gz"), "gz");
}

TEST(CompressionOf, NumbersBeginWithTheirLowestByte) {
  EXPECT_EQ(little_endian(""), 0u);
  EXPECT_EQ(little_endian("\x01\x02\xff"), 0xff0201u);
}

#ifdef MILLRACE_TESTS_COMPRESSED

using testing_support::bgzf_of;
using testing_support::gzip_of;
using testing_support::skippable_frame;
using testing_support::zstd_of;

TEST(BgzfBlock, TellsItsLength) {
  const std::string one = bgzf_of("1,2\n", 100, false), two = bgzf_of("1,2\n", 2, true);
  EXPECT_EQ(bgzf_block_bytes(one), one.size());
  const uint64_t first = bgzf_block_bytes(two);
  EXPECT_GT(first, kBgzfHeader);
  EXPECT_GT(bgzf_block_bytes(std::string_view(two).substr(first)), 0u);
  EXPECT_EQ(bgzf_block_bytes(std::string_view(two).substr(two.size() - 28)), 28u) << "the last block, without text";
  EXPECT_EQ(bgzf_block_bytes(gzip_of("1,2\n")), 0u);
  EXPECT_EQ(bgzf_block_bytes(gzip_of("1,2\n", {.extra = "other."})), 0u);
  EXPECT_EQ(bgzf_block_bytes(std::string_view(one).substr(0, kBgzfHeader - 1)), 0u);
  std::string lie = one;
  lie[16] = 3;
  lie[17] = 0;
  EXPECT_EQ(bgzf_block_bytes(lie), 0u) << "shorter than any block";
}

TEST(ZstdHeader, IsWhatTheLibraryWrote) {
  for (const size_t bytes : {0u, 1u, 255u, 256u, 300u, 65791u, 65792u, 70000u, 1000000u}) {
    const std::string text = testing_support::numbers_text(bytes).substr(0, bytes);
    for (const bool size : {false, true}) {
      for (const int window : {0, 10, 20}) {
        const std::string frame = zstd_of(text, {.size = size, .checksum = bytes % 2 == 0, .window_log = window});
        const std::optional<ZstdHeader> header = zstd_header(frame);
        ASSERT_TRUE(header) << bytes;
        EXPECT_EQ(header->text, size ? std::optional<uint64_t>(bytes) : std::nullopt);
        EXPECT_EQ(header->checksum, bytes % 2 == 0);
        EXPECT_FALSE(header->skippable);
        EXPECT_FALSE(header->dictionary);
        if (!size && window > 0 && bytes >= 1000000) {
          EXPECT_EQ(header->window, uint64_t{1} << window);
        }
        for (size_t cut = 0; cut < header->bytes; ++cut) {
          EXPECT_FALSE(zstd_header(std::string_view(frame).substr(0, cut))) << bytes << ' ' << cut;
        }
        EXPECT_LE(header->bytes, kZstdHeader);
      }
    }
  }
}

TEST(ZstdHeader, OfOtherFrames) {
  const std::optional<ZstdHeader> skippable = zstd_header(skippable_frame("twelve bytes"));
  ASSERT_TRUE(skippable);
  EXPECT_TRUE(skippable->skippable);
  EXPECT_EQ(skippable->bytes, 20u);
  const std::optional<ZstdHeader> dictionary = zstd_header("\x28\xb5\x2f\xfd\x21\x07\x05\x00\x00\x00"sv);
  ASSERT_TRUE(dictionary);
  EXPECT_TRUE(dictionary->dictionary);
  EXPECT_EQ(dictionary->text, 5u);
  EXPECT_FALSE(zstd_header("\x28\xb5\x2f\xfd\x28\x05\x00\x00"sv)) << "a bit that is not in use";
  EXPECT_FALSE(zstd_header(gzip_of("1,2\n")));
}

#else

TEST(CompressionOf, WithoutALibraryTheErrorNamesThePackage) {
#ifndef MILLRACE_HAS_ZLIB
  EXPECT_THROW(check_is_built(Compression::gzip, "a.csv.gz"), ConfigError);
#endif
#ifndef MILLRACE_HAS_ZSTD
  EXPECT_THROW(check_is_built(Compression::zstd, "a.csv.zst"), ConfigError);
#endif
}

#endif

}  // namespace
}  // namespace millrace
