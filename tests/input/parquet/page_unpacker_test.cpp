#include "millrace/input/parquet/page_unpacker.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/input/compressed/compressing.h"
#include "tests/input/op_testing.h"
#include "tests/input/parquet/parquet_bytes.h"

namespace millrace {
namespace {

using testing_support::BytesFile;
using testing_support::error_of;
using testing_support::varint;

class PageUnpackerTest : public ::testing::Test {
 protected:
  // What becomes of `packed`, which lies after 3 other bytes in its file, and after "ab" in memory.
  std::string unpacked(PageCodec codec, const std::string& packed, size_t size) {
    const BytesFile file("..." + packed);
    PageBytes to;
    to.reserve(2);
    to.data()[0] = std::byte{'a'};
    to.data()[1] = std::byte{'b'};
    unpacker_.unpack(codec, {file, entry_, 3, {packed.data(), packed.size()}}, size, to, 2);
    most_ = to.capacity();
    return {reinterpret_cast<const char*>(to.data()), size + 2};
  }
  std::string error(PageCodec codec, const std::string& packed, size_t size) {
    return error_of([&] { unpacked(codec, packed, size); });
  }

  const std::shared_ptr<const FileEntry> entry_ = std::make_shared<const FileEntry>(FileEntry{.path = "a.parquet"});
  PageUnpacker unpacker_;
  size_t most_ = 0;
};

const std::string kDamaged = "the Parquet file is damaged: the compressed page at byte 3 is not ";
const std::string kHint = "; was it copied or downloaded as a whole?";

TEST_F(PageUnpackerTest, CopiesWhatIsNotCompressed) {
  EXPECT_EQ(unpacked(PageCodec::none, "text", 4), "abtext");
  EXPECT_EQ(error(PageCodec::none, "text", 5), kDamaged + "what it says" + kHint);
}

#ifdef MILLRACE_HAS_SNAPPY
TEST_F(PageUnpackerTest, ReadsSnappy) {
  // A literal, and a copy of 20 bytes from 4 before.
  const std::string packed = varint(24) + std::string("\x0ctext\x4e\x04\0", 8);
  EXPECT_EQ(unpacked(PageCodec::snappy, packed, 24), "abtexttexttexttexttexttext");
  for (const size_t size : {0u, 23u, 25u}) {
    EXPECT_EQ(error(PageCodec::snappy, packed, size), kDamaged + "what it says" + kHint);
  }
  EXPECT_EQ(error(PageCodec::snappy, packed.substr(0, 6), 24), kDamaged + "what it says" + kHint);
  EXPECT_EQ(error(PageCodec::snappy, varint(1 << 30) + "\x0ctext", 1 << 30), kDamaged + "what it says" + kHint);
  EXPECT_LT(most_, 1000u) << "nothing is taken for a size that cannot be";
}
#endif

#ifdef MILLRACE_HAS_LZ4
TEST_F(PageUnpackerTest, ReadsLz4) {
  // Four literals and a match of 15 bytes, then five literals.
  const std::string packed = std::string("\x4btext\x04\0\x50", 8) + "final";
  EXPECT_EQ(unpacked(PageCodec::lz4_raw, packed, 24), "abtexttexttexttexttexfinal");
  for (const size_t size : {0u, 23u, 25u}) {
    EXPECT_EQ(error(PageCodec::lz4_raw, packed, size), kDamaged + "what it says" + kHint);
  }
  EXPECT_EQ(error(PageCodec::lz4_raw, packed, 1 << 30), kDamaged + "what it says" + kHint);
}
#endif

#ifdef MILLRACE_TESTS_COMPRESSED
TEST_F(PageUnpackerTest, ReadsGzipAndZstdWithAnyRatio) {
  const std::string few = "some text, and some more text", many(5 << 20, 'x');
  for (const std::string& text : {few, many}) {
    for (const PageCodec codec : {PageCodec::gzip, PageCodec::zstd}) {
      const std::string packed =
          codec == PageCodec::gzip ? testing_support::gzip_of(text) : testing_support::zstd_of(text);
      EXPECT_TRUE(unpacked(codec, packed, text.size()) == "ab" + text);
      for (const size_t size : {text.size() - 1, text.size() + 1, size_t{INT32_MAX}}) {
        EXPECT_EQ(error(codec, packed, size), kDamaged + "as long as it says" + kHint);
        EXPECT_LE(most_, 2 * std::max(text.size(), size_t{1} << 20) + 2) << "memory follows what comes";
      }
      EXPECT_NE(error(codec, packed.substr(0, packed.size() / 2), text.size()).find("a.parquet: "), std::string::npos);
      EXPECT_NE(error(codec, "no such data", text.size()).find("a.parquet: "), std::string::npos);
    }
  }
}
#endif

TEST_F(PageUnpackerTest, NamesThePackageThatABuildLacks) {
  EXPECT_EQ(error_of([] { check_is_built(PageCodec::none, "column"); }), "no error");
#ifdef MILLRACE_HAS_SNAPPY
  EXPECT_EQ(error_of([] { check_is_built(PageCodec::snappy, "column"); }), "no error");
#else
  EXPECT_EQ(
      error_of([] { check_is_built(PageCodec::snappy, "column"); }),
      "column is compressed by snappy, which is not in this build; install libsnappy-dev and build Millrace again, "
      "or write the file without compression");
#endif
}

}  // namespace
}  // namespace millrace
