#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/input/compressed/decoding.h"

#ifdef MILLRACE_TESTS_COMPRESSED

namespace millrace {
namespace {

using namespace std::string_literals;
using ::testing::HasSubstr;
using testing_support::CountedFile;
using testing_support::decode_all;
using testing_support::entry_of;
using testing_support::numbers_text;
using testing_support::skippable_frame;
using testing_support::zstd_of;

TEST(ZstdDecoder, FramesArePoints) {
  const std::string text = numbers_text(50000), first = zstd_of(text) + skippable_frame("x"),
                    bytes = first + zstd_of("1\n2");
  const CountedFile raw(bytes);
  const auto decoder = make_decoder(Compression::zstd, "f");
  const CompressedBytes all = {.entry = entry_of("f", bytes.size()), .end = bytes.size(), .most_window = 1 << 23};
  decoder->start(all, {});
  while (decoder->skip(raw, text.size())) {
    EXPECT_FALSE(decoder->at_point()) << "nothing within a frame is one";
    EXPECT_EQ(decoder->last_start().text, 0u);
  }
  char next = 0;
  EXPECT_EQ(decoder->read(raw, &next, 1), 1u);
  const TextPoint point = decoder->last_start();
  EXPECT_EQ(point.text, text.size());
  EXPECT_EQ(point.at, first.size());
  EXPECT_EQ(point.at_line, true);
  EXPECT_FALSE(point.window);
  decoder->start(all, point);
  std::string rest(10, ' ');
  rest.resize(decoder->read(raw, rest.data(), rest.size()));
  EXPECT_EQ(rest, "1\n2");
  EXPECT_EQ(decoder->text(), text.size() + 3);
}

TEST(ZstdDecoder, ReadsWholeFramesAtOnce) {
  const auto decoder = make_decoder(Compression::zstd, "f");
  const std::string frames = skippable_frame("x") + zstd_of("1,2\n") + zstd_of("") + zstd_of("3\n", {.size = false});
  std::string out(6, ' ');
  EXPECT_TRUE(decoder->decode_whole(frames, out));
  EXPECT_EQ(out, "1,2\n3\n");
  std::string wrong(7, ' ');
  EXPECT_FALSE(decoder->decode_whole(frames, wrong));
  wrong.resize(5);
  EXPECT_FALSE(decoder->decode_whole(frames, wrong));
  EXPECT_FALSE(decoder->decode_whole(std::string_view(frames).substr(0, frames.size() - 1), out));
  const CountedFile raw(frames);
  decoder->start({.entry = entry_of("f", frames.size()), .end = frames.size(), .most_window = 1 << 23}, {});
  EXPECT_EQ(decoder->read(raw, out.data(), out.size()), 4u) << "and may read bit by bit then";
}

TEST(ZstdDecoder, SaysWhatIsWrong) {
  const std::string one = zstd_of("1,2\n");
  const auto error_of_bytes = [](const std::string& bytes) { return decode_all(bytes, 100).error; };
  EXPECT_EQ(error_of_bytes(one + "garbage that is long enough"),
            cat("f: expected another zstd frame or the end at byte ", one.size(),
                " of the file; is the file damaged, or was something else added to it?"));
  std::string wrong = one;
  wrong.back() = static_cast<char>(wrong.back() ^ 1);
  EXPECT_THAT(error_of_bytes(wrong),
              HasSubstr("f: the compressed data are damaged (Restored data doesn't match checksum)"));
  EXPECT_EQ(decode_all(wrong, 100).text, "1,2\n") << "what comes before the checksum";
  EXPECT_THAT(error_of_bytes("\x28\xb5\x2f\xfd\x21\x07\x05"s + std::string(20, '\0')),
              HasSubstr("f: a zstd frame needs a dictionary at byte 0 of the file; decompress the file with it first"));
}

TEST(ZstdDecoder, RefusesWindowsThatAreTooLarge) {
  const std::string text = numbers_text(3000000), bytes = zstd_of(text, {.size = false, .window_log = 21});
  const CountedFile raw(bytes);
  const auto decoder = make_decoder(Compression::zstd, "f");
  CompressedBytes all = {.entry = entry_of("f", bytes.size()), .end = bytes.size(), .most_window = (1 << 21) - 1};
  decoder->start(all, {});
  char some[100];
  try {
    decoder->read(raw, some, sizeof some);
    FAIL();
  } catch (const DataError& error) {
    EXPECT_THAT(error.what(), HasSubstr("f: a zstd frame needs a window of 2097152 bytes, at most 2097151 are allowed "
                                        "here; at byte 0 of the file; compress the file again, without --long"));
  }
  all.most_window = 1 << 21;
  decoder->start(all, {});
  EXPECT_GT(decoder->read(raw, some, sizeof some), 0u);
}

TEST(ZstdDecoder, ABombComesBitByBit) {
  const std::string zeros = zstd_of(std::string(100 << 20, '0'), {.size = false, .level = 1});
  ASSERT_LT(zeros.size(), 60000u);
  const CountedFile raw(zeros);
  const auto decoder = make_decoder(Compression::zstd, "f");
  decoder->start({.entry = entry_of("f", zeros.size()), .end = zeros.size(), .most_window = 1 << 23}, {});
  uint64_t all = 0;
  char some[4096];
  while (const size_t got = decoder->read(raw, some, sizeof some)) all += got;
  EXPECT_EQ(all, uint64_t{100} << 20);
}

}  // namespace
}  // namespace millrace

#endif
