#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "tests/input/compressed/decoding.h"

#ifdef MILLRACE_TESTS_COMPRESSED

namespace millrace {
namespace {

using ::testing::HasSubstr;
using testing_support::bgzf_of;
using testing_support::CountedFile;
using testing_support::decode_all;
using testing_support::deflated;
using testing_support::entry_of;
using testing_support::gzip_of;
using testing_support::gzip_trailer;
using testing_support::numbers_text;

class GzipDecoderTest : public ::testing::Test {
 protected:
  GzipDecoderTest() : text_(numbers_text(400000)), bytes_(gzip_of(text_)) {}

  CompressedBytes all() const { return {.entry = entry_of("f", bytes_.size()), .end = bytes_.size()}; }
  // All points on the way.
  std::vector<TextPoint> points() const {
    const CountedFile raw(bytes_);
    const auto decoder = make_decoder(Compression::gzip, "f");
    decoder->start(all(), {});
    std::vector<TextPoint> out;
    std::string some(30000, ' ');
    while (decoder->read(raw, some.data(), some.size()) > 0) {
      if (decoder->at_point()) out.push_back(decoder->point());
    }
    return out;
  }
  std::string read_from(const TextPoint& point, size_t bytes) const {
    const CountedFile raw(bytes_);
    const auto decoder = make_decoder(Compression::gzip, "f");
    decoder->start(all(), point);
    std::string out(bytes, ' ');
    size_t done = 0;
    while (const size_t got = decoder->read(raw, out.data() + done, bytes - done)) done += got;
    out.resize(done);
    return out;
  }

  std::string text_, bytes_;
};

TEST_F(GzipDecoderTest, GoesOnFromWithinAMember) {
  const std::vector<TextPoint> found = points();
  ASSERT_GT(found.size(), 3u) << "a member of several blocks";
  int odd = 0;
  for (const TextPoint& point : found) {
    ASSERT_TRUE(point.window);
    EXPECT_EQ(*point.window, text_.substr(point.text - point.window->size(), point.window->size()));
    EXPECT_EQ(point.window->size(), std::min<size_t>(point.text, 32768));
    EXPECT_EQ(point.at_line, text_[point.text - 1] == '\n');
    EXPECT_EQ(point.length, point.text);
    odd += point.bits > 0 ? 1 : 0;
    EXPECT_EQ(read_from(point, text_.size()), text_.substr(point.text));
  }
  EXPECT_GT(odd, 0) << "a block may begin within a byte";
}

TEST_F(GzipDecoderTest, AMemberEndsWithTheSameChecksumFromEveryPoint) {
  const std::vector<TextPoint> found = points();
  TextPoint lie = found[1];
  lie.crc ^= 1;
  const CountedFile raw(bytes_);
  const auto decoder = make_decoder(Compression::gzip, "f");
  std::string some(text_.size(), ' ');
  for (const auto& [point, right] : {std::pair(found[1], true), std::pair(lie, false)}) {
    decoder->start(all(), point);
    const auto read_to = [&](uint64_t to) {
      while (decoder->text() < to) decoder->read(raw, some.data(), static_cast<size_t>(to - decoder->text()));
    };
    read_to(found[2].text);
    EXPECT_EQ(decoder->agrees_with(found[2]), right);
    read_to(text_.size());
    if (right) {
      EXPECT_EQ(decoder->read(raw, some.data(), 1), 0u);
      EXPECT_EQ(decoder->at(), bytes_.size());
    } else {
      EXPECT_THROW(decoder->read(raw, some.data(), 1), DataError);
    }
  }
}

TEST_F(GzipDecoderTest, AWrongWindowGivesOtherTextWhichTheChecksumTells) {
  TextPoint point = points()[1];
  auto window = std::make_shared<std::string>(*point.window);
  for (char& c : *window) c = c == '1' ? '2' : c;
  point.window = window;
  std::string error;
  try {
    EXPECT_NE(read_from(point, text_.size()), text_.substr(point.text));
  } catch (const DataError& failure) {
    error = failure.what();
  }
  EXPECT_THAT(error, HasSubstr("f: the gzip member has another checksum or length than its text; it ends at byte "));
  for (const uint64_t at : {uint64_t{0}, uint64_t{1}, point.at + 1, uint64_t{bytes_.size()}}) {
    TextPoint lie = point;
    lie.at = at;
    lie.bits = 3;
    EXPECT_THROW(read_from(lie, text_.size() * 2), DataError) << at;
  }
}

TEST_F(GzipDecoderTest, ReadsWholeMembersAtOnce) {
  const auto decoder = make_decoder(Compression::gzip, "f");
  const std::string two = gzip_of("1,2\n", {.extra = "ab", .name = "n", .comment = "c", .crc = true}) + bgzf_of("3\n");
  std::string out(6, ' ');
#ifdef MILLRACE_HAS_LIBDEFLATE
  EXPECT_TRUE(decoder->decode_whole(two, out));
  EXPECT_EQ(out, "1,2\n3\n");
#endif
  std::string wrong(7, ' ');
  EXPECT_FALSE(decoder->decode_whole(two, wrong)) << "it has less text";
  wrong.resize(5);
  EXPECT_FALSE(decoder->decode_whole(two, wrong)) << "it has more";
  EXPECT_FALSE(decoder->decode_whole(std::string_view(two).substr(0, two.size() - 1), out));
  EXPECT_FALSE(decoder->decode_whole(std::string_view(two).substr(1), out));
}

TEST_F(GzipDecoderTest, SaysWhatIsWrong) {
  const std::string one = gzip_of("1,2\n");
  const auto error_of_bytes = [](const std::string& bytes) { return decode_all(bytes, 100).error; };
  EXPECT_EQ(error_of_bytes(one + "garbage"),
            cat("f: expected another gzip member or the end at byte ", one.size(),
                " of the file; is the file damaged, or was something else added to it?"));
  EXPECT_EQ(decode_all(one + "garbage", 100).text, "1,2\n");
  EXPECT_EQ(error_of_bytes(one + std::string(100000, '\0') + "x"),
            cat("f: expected another gzip member or the end at byte ", one.size() + 100000,
                " of the file; is the file damaged, or was something else added to it?"));
  std::string wrong = one;
  wrong[one.size() - 1] = 1;
  EXPECT_EQ(error_of_bytes(wrong),
            cat("f: the gzip member has another checksum or length than its text; it ends at byte ", one.size(),
                " of the file"));
  const std::string header = one.substr(0, 10);
  EXPECT_THAT(error_of_bytes(header + "\x07"),
              HasSubstr("f: the compressed data are damaged (invalid block type) at byte 1"));
  EXPECT_THAT(error_of_bytes(header), HasSubstr("f: the compressed data end too early, at byte 10 of the file"));
}

// A thousand bytes of text for each compressed one take no more memory than others.
TEST_F(GzipDecoderTest, ABombComesBitByBit) {
  const std::string zeros = gzip_of(std::string(50 << 20, '0'));
  ASSERT_LT(zeros.size(), 60000u);
  const CountedFile raw(zeros);
  const auto decoder = make_decoder(Compression::gzip, "f");
  decoder->start({.entry = entry_of("f", zeros.size()), .end = zeros.size()}, {});
  uint64_t all = 0;
  char some[4096];
  while (const size_t got = decoder->read(raw, some, sizeof some)) all += got;
  EXPECT_EQ(all, uint64_t{50} << 20);
}

TEST(BareDeflate, IsReadWithoutHeaderAndChecksum) {
  const std::string text = numbers_text(200000), packed = deflated(text), bytes = "before" + packed + "behind";
  const CountedFile raw(bytes);
  const auto decoder = make_decoder(Compression::deflate, "f");
  const CompressedBytes part = {.entry = entry_of("f", bytes.size()), .begin = 6, .end = 6 + packed.size()};
  std::vector<TextPoint> points = {{.at = 6}};
  for (size_t i = 0; i < points.size() && i < 5; ++i) {
    decoder->start(part, points[i]);
    std::string got, some(20000, ' ');
    while (const size_t count = decoder->read(raw, some.data(), some.size())) {
      got.append(some, 0, count);
      if (i == 0 && decoder->at_point()) points.push_back(decoder->point());
    }
    EXPECT_EQ(got, text.substr(points[i].text));
    EXPECT_EQ(decoder->at(), 6 + packed.size());
  }
  EXPECT_GT(points.size(), 2u) << "its blocks end at places to go on from";
  char more = 0;
  EXPECT_EQ(decoder->read(raw, &more, 1), 0u);
}

TEST(BareDeflate, EndsWithItsLastByteHoweverItIsAskedFor) {
  for (size_t rows = 1; rows < 300; ++rows) {
    const std::string text = numbers_text(rows), packed = deflated(text);
    const CountedFile raw(packed);
    const auto decoder = make_decoder(Compression::deflate, "f");
    decoder->start({.entry = entry_of("f", packed.size()), .end = packed.size()}, {});
    std::string got;
    char next = 0;
    while (decoder->read(raw, &next, 1) > 0) got += next;
    EXPECT_EQ(got, text);
  }
}

}  // namespace
}  // namespace millrace

#endif
