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
  const std::string last = cat(" at ", a.size() + b.size(), '-', a.size() + b.size() + c.size());
  EXPECT_THAT(ranges(1),
              ElementsAre(cat("text 0-300 at 0-", a.size()),
                          cat("text 300-600 at ", a.size(), '-', a.size() + b.size()), "text 600-1000" + last));
  EXPECT_THAT(ranges(600), ElementsAre(cat("text 0-600 at 0-", a.size() + b.size()), "text 600-1000" + last));
  EXPECT_THAT(ranges(1000), ElementsAre(cat("text 0-1000 at 0-", a.size() + b.size() + c.size())));
  EXPECT_LT(raw_->bytes_read(), 1000u) << "only headers are read";
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
  const uint64_t middle = 2 * skippable.size() + a.size();
  EXPECT_THAT(ranges(1), ElementsAre(cat("text 0-300 at 0-", middle), cat("text 300-1000 at ", middle, '-', end)));
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
  uint64_t left = TextResources::kOfSource - 70000;
  ASSERT_TRUE(shared_.take_memory(left));
  CompressedText& text = use(gzip_of(std::string(1000, '1')));
  for (uint64_t i = 1; i <= 4; ++i) text.add(point(i * 4 * kMiB, i * 4 * kMiB, 32768));
  EXPECT_LE(window_bytes(text.points()), 70000u);
  EXPECT_GT(window_bytes(text.points()), 0u);
  text_ = nullptr;
  EXPECT_TRUE(shared_.take_memory(70000)) << "it gives its memory back";
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

TEST_F(CompressedTextTest, CountsTheBytesOfTheFile) {
  CompressedText& text = use(gzip_of(std::string(20 * kMiB, '1'), {}, 0));
  const uint64_t end = text.compressed().end;
  EXPECT_EQ(text.bytes_before(0), 0u);
  text.note(kMiB, kMiB / 2);
  EXPECT_EQ(text.bytes_before(kMiB / 2), kMiB / 4) << "in proportion";
  EXPECT_EQ(text.bytes_before(kMiB), kMiB / 2);
  text.add(point(10 * kMiB, 6 * kMiB));
  EXPECT_EQ(text.bytes_before(10 * kMiB), 6 * kMiB);
  text.set_size(20 * kMiB);
  EXPECT_EQ(text.bytes_before(20 * kMiB), end);
  uint64_t before = 0;
  for (uint64_t at = 0; at <= 20 * kMiB; at += 12345) {
    EXPECT_GE(text.bytes_before(at), before);
    before = text.bytes_before(at);
  }
}

TEST_F(CompressedTextTest, BoundsWhatATaskReads) {
  EXPECT_EQ(use(bgzf_of("1\n")).most_range(1000), 65536u);
  EXPECT_EQ(use(bgzf_of("1\n")).most_range(100000), 100000u);
  EXPECT_EQ(use(gzip_of("1\n")).most_range(1000), gzip_of("1\n").size() * 1032);
  EXPECT_EQ(use(zstd_of("1\n")).most_range(1000), TextResources::kMostRange);
  EXPECT_EQ(use(gzip_of("1\n")).most_memory(), 0u);
  const uint64_t memory = use(gzip_of(std::string(20 * kMiB, '1'), {}, 0)).most_memory();
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

}  // namespace
}  // namespace millrace

#endif
