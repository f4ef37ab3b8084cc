#include "millrace/input/compressed/compressed_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "millrace/input/files/stream_file.h"
#include "tests/input/compressed/compressing.h"
#include "tests/input/op_testing.h"

#ifdef MILLRACE_TESTS_COMPRESSED

namespace millrace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using testing_support::bgzf_of;
using testing_support::CountedFile;
using testing_support::entry_of;
using testing_support::error_of;
using testing_support::gzip_of;
using testing_support::numbers_text;
using testing_support::skippable_frame;
using testing_support::zstd_of;

constexpr uint64_t kMiB = uint64_t{1} << 20;

// A compressed file and what is known of its text.
class CompressedTextTest : public ::testing::Test {
 protected:
  CompressedText& use(std::string bytes) {
    raw_ = std::make_unique<CountedFile>(bytes);
    text_ =
        std::make_unique<CompressedText>(CompressedBytes{.entry = entry_of("f", bytes.size(), 3), .end = bytes.size()},
                                         compression_of(bytes), shared_, *raw_);
    return *text_;
  }
  // "text 0-300 at 0-127" of the ranges from the start on, as long as there are any.
  std::vector<std::string> ranges(uint64_t bytes) const {
    std::vector<std::string> out;
    TextPoint at;
    while (const auto range = text_->range_at(at, *raw_, bytes)) {
      out.push_back(cat("text ", range->begin.text, '-', range->end.text, " at ", range->begin.at, '-', range->end.at));
      at = range->end;
      if (at.at == text_->compressed().end) break;
    }
    return out;
  }
  static TextPoint point(uint64_t text, uint64_t at, size_t window = 0) {
    TextPoint out = {.text = text, .at = at};
    if (window > 0) out.window = std::make_shared<const std::string>(window, 'w');
    return out;
  }
  static uint64_t window_bytes(const std::vector<TextPoint>& points) {
    uint64_t sum = 0;
    for (const TextPoint& point : points) sum += point.window ? point.window->size() : 0;
    return sum;
  }

  TextResources shared_;
  std::unique_ptr<CountedFile> raw_;
  std::unique_ptr<CompressedText> text_;
};

TEST_F(CompressedTextTest, BlocksThatTellTheirLengthAreRanges) {
  const std::string text = numbers_text(1000).substr(0, 1000), a = bgzf_of(text.substr(0, 300), 300, false),
                    b = bgzf_of(text.substr(300, 300), 300, false), c = bgzf_of(text.substr(600), 400, true);
  EXPECT_TRUE(use(a + b + c).has_blocks());
  const size_t without_end = a.size() + b.size() + bgzf_of(text.substr(600), 400, false).size();
  const std::string last = cat(" at ", a.size() + b.size(), '-', a.size() + b.size() + c.size());
  EXPECT_THAT(ranges(1), ElementsAre(cat("text 0-300 at 0-", a.size()),
                                     cat("text 300-600 at ", a.size(), '-', a.size() + b.size()),
                                     cat("text 600-1000 at ", a.size() + b.size(), '-', without_end),
                                     cat("text 1000-1000 at ", without_end, '-', without_end + bgzf_of("").size())));
  EXPECT_THAT(ranges(600), ElementsAre(cat("text 0-600 at 0-", a.size() + b.size()), "text 600-1000" + last));
  EXPECT_THAT(ranges(1000), ElementsAre(cat("text 0-1000 at 0-", a.size() + b.size() + c.size())));
  EXPECT_LT(raw_->bytes_read(), 1000u) << "only headers are read";
}

TEST_F(CompressedTextTest, KnowsBlocksThatLackTheirEnd) {
  const std::string text = numbers_text(1000), whole = bgzf_of(text, 300), cut = bgzf_of(text, 300, false);
  EXPECT_FALSE(use(whole).lacks_end(*raw_));
  EXPECT_FALSE(use(bgzf_of("")).lacks_end(*raw_)) << "no more than the end";
  EXPECT_TRUE(use(cut).lacks_end(*raw_));
  EXPECT_TRUE(use(bgzf_of("1", 300, false)).lacks_end(*raw_));
  EXPECT_TRUE(use(whole.substr(0, whole.size() - 1)).lacks_end(*raw_));
  for (const std::string& other : {gzip_of(text), gzip_of(""), zstd_of(text)}) {
    EXPECT_FALSE(use(other).lacks_end(*raw_)) << "it has no such end";
  }
}

TEST_F(CompressedTextTest, WhatComesAfterBlocksIsNone) {
  const std::string blocks = bgzf_of("1,2\n", 300, false);
  for (const std::string& more : {gzip_of("3,4\n"), std::string("garbage"), blocks.substr(0, blocks.size() - 1)}) {
    use(blocks + more);
    EXPECT_THAT(ranges(1000), ElementsAre(cat("text 0-4 at 0-", blocks.size()))) << more.size();
  }
  std::string lie = blocks + blocks;
  lie[16] = static_cast<char>(lie[16] + 1);
  use(lie);
  EXPECT_THAT(ranges(1000), IsEmpty()) << "no block begins where the first one says that it ends";
}

TEST_F(CompressedTextTest, FramesThatTellTheirLengthAreRanges) {
  const std::string text = numbers_text(1000).substr(0, 1000);
  const std::string skippable = skippable_frame("about"), a = zstd_of(text.substr(0, 300)),
                    b = zstd_of(text.substr(300), {.checksum = false}), unsized = zstd_of("1\n", {.size = false});
  use(skippable + a + skippable + b + skippable);
  const uint64_t end = raw_->size();
  EXPECT_THAT(ranges(1000), ElementsAre(cat("text 0-1000 at 0-", end)));
  const uint64_t middle = skippable.size() + a.size(), last = end - skippable.size();
  EXPECT_THAT(ranges(1), ElementsAre(cat("text 0-300 at 0-", middle), cat("text 300-1000 at ", middle, '-', last),
                                     cat("text 1000-1000 at ", last, '-', end)));
  use(a + unsized + b);
  EXPECT_THAT(ranges(1000), ElementsAre(cat("text 0-300 at 0-", a.size())));
  use(unsized);
  EXPECT_THAT(ranges(1000), IsEmpty());
  use(a.substr(0, a.size() - 5));
  EXPECT_THAT(ranges(1000), IsEmpty()) << "it is cut off";
  use(zstd_of(std::string(TextResources::kMostRange + 1, '1')));
  EXPECT_THAT(ranges(1000), IsEmpty()) << "a task would hold all of it";
  const std::string half = zstd_of(std::string(TextResources::kMostRange / 2 + 1, '1'));
  use(half);
  EXPECT_THAT(ranges(1000), Not(IsEmpty()));
  shared_.halve_ranges();
  EXPECT_THAT(ranges(1000), IsEmpty());
}

// A range without text is passed unread.
TEST_F(CompressedTextTest, NoPieceHidesItsText) {
  std::string block = bgzf_of("1,2\n", 300, false);
  block.replace(block.size() - 4, 4, std::string(4, '\0'));
  use(block + bgzf_of("3,4\n"));
  EXPECT_THAT(ranges(1000), IsEmpty());
  std::string frame = zstd_of("1,2\n");
  frame[5] = '\0';  // how much text it has
  use(frame + zstd_of("3,4\n"));
  EXPECT_THAT(ranges(1000), IsEmpty());
  use(zstd_of("") + zstd_of("3,4\n"));
  EXPECT_THAT(ranges(1000), Not(IsEmpty()));
}

TEST_F(CompressedTextTest, ASmallFileWithOneMemberIsARange) {
  const std::string one = gzip_of("1,2\n3,4\n", {.name = "a.csv"});
  use(one);
  EXPECT_THAT(ranges(1000), ElementsAre(cat("text 0-8 at 0-", one.size())));
  for (const std::string& other :
       {one + one, gzip_of(""), one + std::string(8, '\0'), gzip_of(std::string(TextResources::kMostRange + 1, '1')),
        gzip_of(numbers_text(300000), {}, 0)}) {
    use(other);
    EXPECT_THAT(ranges(1000), IsEmpty()) << other.size();
  }
}

TEST_F(CompressedTextTest, KnownPointsMakeRanges) {
  CompressedText& text = use(gzip_of(std::string(20 * kMiB, '1'), {}, 0));
  EXPECT_THAT(ranges(1000), IsEmpty());
  text.add(point(4 * kMiB, 4 * kMiB + 100, 32768));
  text.add(point(12 * kMiB, 12 * kMiB + 100, 32768));
  EXPECT_THAT(ranges(1000),
              ElementsAre(cat("text 0-", 4 * kMiB, " at 0-", 4 * kMiB + 100),
                          cat("text ", 4 * kMiB, '-', 12 * kMiB, " at ", 4 * kMiB + 100, '-', 12 * kMiB + 100)));
  text.set_size(20 * kMiB);
  EXPECT_EQ(ranges(1000).size(), 3u) << "the last one ends with the text";
  EXPECT_EQ(text.before(0).text, 0u);
  EXPECT_EQ(text.before(4 * kMiB - 1).text, 0u);
  EXPECT_EQ(text.before(4 * kMiB).text, 4 * kMiB);
  EXPECT_EQ(text.before(UINT64_MAX).text, 12 * kMiB);
  text.set_size(21 * kMiB);
  EXPECT_EQ(ranges(1000).size(), 2u) << "too long";
}

TEST_F(CompressedTextTest, PointsKeepTheirDistance) {
  CompressedText& text = use(gzip_of(std::string(20 * kMiB, '1'), {}, 0));
  EXPECT_FALSE(text.wants(4 * kMiB - 1, kMiB));
  EXPECT_FALSE(text.wants(4 * kMiB, CompressedText::kLeastBytes - 1)) << "it would take more than it spares";
  EXPECT_TRUE(text.wants(4 * kMiB, CompressedText::kLeastBytes));
  text.add(point(10 * kMiB, 10 * kMiB));
  EXPECT_FALSE(text.wants(13 * kMiB, 13 * kMiB));
  EXPECT_FALSE(text.wants(7 * kMiB, 7 * kMiB));
  EXPECT_TRUE(text.wants(5 * kMiB, 5 * kMiB)) << "between two known ones";
  text.add(point(5 * kMiB, 5 * kMiB));
  EXPECT_EQ(text.before(9 * kMiB).text, 5 * kMiB);
}

TEST_F(CompressedTextTest, AFileHasNoMorePointsThanItsMemory) {
  CompressedText& text = use(gzip_of(std::string(1000, '1')));
  uint64_t at = 0;
  for (int i = 1; i <= 2000; ++i) {
    at += 4 * kMiB;
    if (text.wants(at, at)) text.add(point(at, at, 32768));
  }
  const std::vector<TextPoint> points = text.points();
  EXPECT_LE(window_bytes(points), TextResources::kOfFile);
  EXPECT_GT(points.size(), 100u);
  EXPECT_LE(points.size(), 256u);
  uint64_t least = UINT64_MAX;
  for (size_t i = 1; i < points.size(); ++i) least = std::min(least, points[i].text - points[i - 1].text);
  EXPECT_GE(least, 32 * kMiB) << "further apart, everywhere";
}

TEST_F(CompressedTextTest, TheFilesOfASourceShareTheirMemory) {
  EXPECT_EQ(TextResources(0).point_memory(), TextResources::kOfFile);
  EXPECT_EQ(TextResources(32).point_memory(), TextResources::kOfFile);
  TextResources shared(4000);
  EXPECT_EQ(shared.point_memory(), TextResources::kOfSource / 4000);
  const CountedFile raw(gzip_of("1"));
  CompressedText text({.entry = entry_of("f", raw.size()), .end = raw.size()}, Compression::gzip, shared, raw);
  for (uint64_t i = 1; i <= 4; ++i) text.add(point(i * 4 * kMiB, i * 4 * kMiB, 32768));
  EXPECT_EQ(window_bytes(text.points()), 65536u);
}

TEST_F(CompressedTextTest, TakesBackThePointsThatItGave) {
  CompressedText& text = use(gzip_of(std::string(20 * kMiB, '1'), {}, 0));
  EXPECT_THAT(text.points(), IsEmpty()) << "the start is none";
  for (uint64_t i = 1; i <= 4; ++i) text.add(point(i * 4 * kMiB, i * 4 * kMiB + 7, 100 + i));
  const std::vector<TextPoint> points = text.points();
  ASSERT_EQ(points.size(), 4u);
  CompressedText& other = use(gzip_of(std::string(20 * kMiB, '1'), {}, 0));
  other.load(points[1]);
  const TextPoint back = other.before(9 * kMiB);
  EXPECT_EQ(back.text, 8 * kMiB);
  EXPECT_EQ(back.at, 8 * kMiB + 7);
  EXPECT_EQ(*back.window, std::string(102, 'w'));
}

TEST_F(CompressedTextTest, RefusesPointsThatCannotBe) {
  CompressedText& text = use(gzip_of(std::string(20 * kMiB, '1'), {}, 0));
  text.load(point(8 * kMiB, 8 * kMiB));
  const auto load = [&](uint64_t at_text, uint64_t at, size_t window = 3) {
    return error_of([&] { text.load(point(at_text, at, window)); });
  };
  EXPECT_EQ(load(9 * kMiB, 9 * kMiB), "no error");
  EXPECT_THAT(load(4 * kMiB, 0),
              HasSubstr("f: the saved state has a wrong place in the compressed data: byte 0, text"));
  EXPECT_NE(load(4 * kMiB, 21 * kMiB), "no error") << "behind the end";
  EXPECT_NE(load(4 * kMiB, 9 * kMiB), "no error") << "not in order";
  EXPECT_NE(load(12 * kMiB, 5 * kMiB), "no error");
  EXPECT_NE(load(12 * kMiB, 12 * kMiB, 32769), "no error") << "no window is so large";
  CompressedText& frames = use(zstd_of("1,2\n") + zstd_of("3\n"));
  EXPECT_EQ(error_of([&] { frames.load(point(4, 9)); }), "no error");
  EXPECT_NE(error_of([&] { frames.load(point(5, 10, 1)); }), "no error") << "a frame needs no window";
}

// Small members have no place within, as their only block is their last one.
TEST_F(CompressedTextTest, LearnsWhereMembersAndFramesBegin) {
  const std::string text = numbers_text(9 * kMiB);
  for (const bool zstd : {false, true}) {
    std::vector<uint64_t> begins;
    std::string bytes;
    for (size_t at = 0; at < text.size(); at += 20000) {
      begins.push_back(bytes.size());
      const std::string piece = text.substr(at, 20000);
      bytes += zstd ? zstd_of(piece, {.size = false}) : gzip_of(piece);
    }
    CompressedText& known = use(bytes);
    const auto decoder = shared_.take(known, 0, {});
    std::string got(text.size() + 1, ' ');
    got.resize(known.read(*decoder, *raw_, got.data(), got.size()));
    EXPECT_EQ(got, text);
    const std::vector<TextPoint> points = known.points();
    ASSERT_EQ(points.size(), 2u) << zstd;
    for (const TextPoint& point : points) {
      EXPECT_FALSE(point.window);
      EXPECT_EQ(point.at_line, text[point.text - 1] == '\n');
      EXPECT_EQ(point.at, begins[point.text / 20000]);
      decoder->start(known.compressed(), point);
      char next = 0;
      EXPECT_EQ(decoder->read(*raw_, &next, 1), 1u);
      EXPECT_EQ(next, text[point.text]);
    }
  }
}

TEST_F(CompressedTextTest, AFrameIsNotWalkedBeyondARange) {
  // A header that tells a small size, then blocks without a byte, up to the end.
  std::string bytes = zstd_of("1\n").substr(0, 6);
  bytes.append(12 * kMiB, '\0');
  use(bytes);
  EXPECT_THAT(ranges(1000), IsEmpty());
  EXPECT_LT(raw_->bytes_read(), 10 * kMiB);
}

TEST_F(CompressedTextTest, CountsTheBytesOfTheFile) {
  CompressedText& text = use(gzip_of(std::string(20 * kMiB, '1'), {}, 0));
  const uint64_t end = text.compressed().end;
  EXPECT_EQ(text.bytes_before(0), 0u);
  text.note(kMiB, kMiB / 2);
  EXPECT_EQ(text.bytes_before(kMiB / 2), kMiB / 4) << "in proportion";
  EXPECT_EQ(text.bytes_before(kMiB), kMiB / 2);
  text.note(10 * kMiB, 6 * kMiB);
  EXPECT_EQ(text.bytes_before(10 * kMiB), 6 * kMiB);
  EXPECT_EQ(text.bytes_before(11 * kMiB), 6 * kMiB) << "no more than was seen";
  text.note(kMiB, kMiB / 2);
  EXPECT_EQ(text.bytes_before(10 * kMiB), 6 * kMiB) << "a later pass knows as much";
  text.set_size(20 * kMiB);
  EXPECT_EQ(text.bytes_before(20 * kMiB), end);
  uint64_t before = 0;
  for (uint64_t at = 0; at <= 20 * kMiB; at += 12345) {
    EXPECT_GE(text.bytes_before(at), before);
    before = text.bytes_before(at);
  }
}

TEST_F(CompressedTextTest, BoundsWhatATaskReads) {
  EXPECT_EQ(use(bgzf_of("1\n")).bounds(1000).range, 65536u);
  EXPECT_EQ(use(bgzf_of("1\n")).bounds(100000).range, 100000u);
  EXPECT_EQ(use(gzip_of("1\n")).bounds(1000).range, gzip_of("1\n").size() * 1032);
  EXPECT_EQ(use(zstd_of("1\n")).bounds(1000).range, TextResources::kMostRange);
  EXPECT_EQ(use(gzip_of("1\n")).bounds(1000).points, 0u);
  EXPECT_GT(use(zstd_of("1\n")).bounds(1000).decoder, CompressedText::kUsualWindow);
  const uint64_t memory = use(gzip_of(std::string(20 * kMiB, '1'), {}, 0)).bounds(1000).points;
  EXPECT_GT(memory, 5 * kMiB);
  EXPECT_LE(memory, TextResources::kOfFile);
}

TEST_F(CompressedTextTest, LargeWindowsAreAllowedIfTheFirstFrameNeedsOne) {
  const std::string text = numbers_text(3000000);
  EXPECT_EQ(use(zstd_of(text)).compressed().most_window, CompressedText::kUsualWindow);
  EXPECT_EQ(use(zstd_of(std::string(20 * kMiB, '1'), {.size = false, .window_log = 24})).compressed().most_window,
            16 * kMiB);
  EXPECT_EQ(use(skippable_frame("x") + zstd_of(std::string(20 * kMiB, '1'), {.size = false, .window_log = 24}))
                .compressed()
                .most_window,
            16 * kMiB);
}

struct OneText {
  OneText(TextResources& shared, const std::string& bytes)
      : raw(bytes),
        text({.entry = entry_of("f", bytes.size()), .end = bytes.size()}, compression_of(bytes), shared, raw) {}
  CountedFile raw;
  CompressedText text;
};

TEST(TextResources, ADecoderIsLentAgainWhereItStands) {
  TextResources shared;
  OneText one(shared, gzip_of(numbers_text(100000))), other(shared, gzip_of(numbers_text(50000)));
  const auto take_at = [&](OneText& from, uint64_t offset, const TextPoint& point = {}) {
    auto decoder = shared.take(from.text, offset, point);
    while (decoder->skip(from.raw, offset)) {
    }
    return decoder;
  };
  auto first = take_at(one, 1000), second = take_at(one, 3000);
  const TextDecoder* const at_1000 = first.get();
  const TextDecoder* const at_3000 = second.get();
  shared.give(&one.text, std::move(first));
  shared.give(&one.text, std::move(second));
  auto near = shared.take(one.text, 5000, {});
  EXPECT_EQ(near.get(), at_3000) << "the one that is nearer";
  EXPECT_EQ(near->text(), 3000u);
  shared.give(&one.text, std::move(near));
  auto before = shared.take(one.text, 2000, {});
  EXPECT_EQ(before.get(), at_1000) << "the other one is past it";
  EXPECT_EQ(before->text(), 1000u);
  shared.give(&one.text, std::move(before));
  auto elsewhere = shared.take(other.text, 2000, {});
  EXPECT_TRUE(elsewhere.get() == at_1000 || elsewhere.get() == at_3000) << "its memory is used again";
  EXPECT_EQ(elsewhere->text(), 0u) << "but it begins anew";
  auto limited = take_at(one, 4000);
  shared.give(nullptr, std::move(limited));
  EXPECT_EQ(shared.take(one.text, 4000, {.text = 3500, .at = 50})->text(), 3500u) << "only its memory";
}

TEST(TextResources, NobodyGetsADecoderThatFailedOrThatAPointIsAheadOf) {
  TextResources shared;
  const std::string text = numbers_text(100000), bytes = gzip_of(text);
  OneText one(shared, bytes.substr(0, bytes.size() / 2));
  auto decoder = shared.take(one.text, 0, {});
  EXPECT_THROW(while (decoder->skip(one.raw, text.size())){}, DataError);
  shared.give(&one.text, std::move(decoder));
  auto again = shared.take(one.text, text.size(), {});
  EXPECT_EQ(again->text(), 0u);
  EXPECT_FALSE(again->failed());
  while (again->skip(one.raw, 10)) {
  }
  shared.give(&one.text, std::move(again));
  EXPECT_EQ(shared.take(one.text, 500, {.text = 100, .at = 50})->text(), 100u) << "from the point, not from before it";
  shared.give(&one.text, nullptr);
}

TEST(TextResources, KindsHaveTheirOwnDecoders) {
  TextResources shared;
  OneText gzip(shared, gzip_of("1\n")), zstd(shared, zstd_of("2\n"));
  for (int round = 0; round < 2; ++round) {
    for (OneText* one : {&gzip, &zstd}) {
      auto decoder = shared.take(one->text, 0, {});
      char got[10];
      EXPECT_EQ(decoder->read(one->raw, got, sizeof got), 2u);
      EXPECT_EQ(got[0], one == &gzip ? '1' : '2');
      shared.give(&one->text, std::move(decoder));
    }
  }
}

TEST(TextResources, GuessesAsItLearned) {
  TextResources shared;
  EXPECT_FALSE(shared.end_with_lines());
  shared.learn_end(true);
  EXPECT_TRUE(shared.end_with_lines());
}

}  // namespace
}  // namespace millrace

#endif
