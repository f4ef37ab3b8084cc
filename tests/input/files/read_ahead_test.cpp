#include "millrace/input/files/read_ahead.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace millrace {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;
constexpr uint64_t kChunk = 262144;
constexpr uint64_t kSlow = 10'000'000;  // nanoseconds of a chunk at 26 MB/s
constexpr uint64_t kFast = 100'000;

// Reads [begin, end) chunk by chunk; returns what was asked for.
std::vector<ReadAhead::Range> read(ReadAhead& ahead, uint64_t begin, uint64_t end, uint64_t nanoseconds) {
  std::vector<ReadAhead::Range> asked;
  for (uint64_t at = begin; at < end; at += kChunk) {
    const ReadAhead::Range range = ahead.after(at, kChunk, nanoseconds);
    if (!range.empty()) asked.push_back(range);
  }
  return asked;
}

TEST(ReadAhead, AsksForNothingWhereReadingIsFast) {
  ReadAhead ahead;
  EXPECT_TRUE(read(ahead, 0, 1000 * kMiB, kFast).empty());
}

TEST(ReadAhead, OneLateAnswerMeansNothing) {
  ReadAhead ahead;
  EXPECT_TRUE(ahead.after(0, kChunk, kSlow).empty());
  EXPECT_TRUE(read(ahead, kChunk, 100 * kMiB, kFast).empty());
}

TEST(ReadAhead, AsksForEveryByteOnceBehindASlowStart) {
  ReadAhead ahead;
  const std::vector<ReadAhead::Range> asked = read(ahead, 0, 100 * kMiB, kSlow);
  ASSERT_FALSE(asked.empty());
  EXPECT_EQ(asked.front().begin, 4 * kMiB);
  EXPECT_EQ(asked.front().end, 4 * kMiB + ReadAhead::kAhead);
  for (size_t i = 1; i < asked.size(); ++i) {
    EXPECT_EQ(asked[i].begin, asked[i - 1].end);
    EXPECT_GE(asked[i].end - asked[i].begin, kMiB) << "advice in small pieces costs more than it brings";
  }
  EXPECT_GT(asked.back().end + kMiB, 100 * kMiB + ReadAhead::kAhead) << "it falls behind";
}

TEST(ReadAhead, GoesOnAskingWhenThatMadeReadingFast) {
  ReadAhead ahead;
  read(ahead, 0, 8 * kMiB, kSlow);
  EXPECT_FALSE(read(ahead, 8 * kMiB, 16 * kMiB, kFast).empty());
}

TEST(ReadAhead, FindsOutLaterToo) {
  ReadAhead ahead;
  read(ahead, 0, 20 * kMiB, kFast);
  EXPECT_FALSE(read(ahead, 20 * kMiB, 28 * kMiB, kSlow).empty());
}

TEST(ReadAhead, SingleRowsCountForNothing) {
  ReadAhead ahead;
  for (int row = 0; row < 10000; ++row) EXPECT_TRUE(ahead.after(uint64_t(row) * kMiB, 12000, kSlow).empty());
}

TEST(ReadAhead, AnotherPassIsJudgedAnew) {
  ReadAhead ahead;
  read(ahead, 0, 100 * kMiB, kSlow);
  EXPECT_TRUE(read(ahead, 0, 100 * kMiB, kFast).empty());
  EXPECT_FALSE(read(ahead, 0, 100 * kMiB, kSlow).empty());
}

TEST(ReadAhead, EachPassOverAShortFileIsAsked) {
  ReadAhead ahead;
  for (int pass = 0; pass < 3; ++pass) EXPECT_FALSE(read(ahead, 0, 12 * kMiB, kSlow).empty()) << pass;
}

TEST(ReadAhead, ManyRangesAtOnceAreOnePass) {
  ReadAhead ahead;
  read(ahead, 0, 8 * kMiB, kSlow);
  uint64_t asked = 0;
  // The ranges of 200 threads, of which the first is the slowest each time.
  for (uint64_t group = 8 * kMiB; group < 1008 * kMiB; group += 200 * kChunk) {
    for (uint64_t i = 200; i-- > 0;) {
      const ReadAhead::Range range = ahead.after(group + i * kChunk, kChunk, kSlow);
      asked += range.end - range.begin;
    }
  }
  EXPECT_LE(asked, 1008 * kMiB + 200 * kChunk + ReadAhead::kAhead);
}

TEST(ReadAhead, RangesMayComeALittleOutOfOrder) {
  ReadAhead ahead;
  read(ahead, 0, 10 * kMiB, kSlow);
  const ReadAhead::Range later = ahead.after(12 * kMiB, kChunk, kSlow);
  ASSERT_FALSE(later.empty());
  EXPECT_TRUE(ahead.after(11 * kMiB, kChunk, kSlow).empty()) << "it was asked for";
}

}  // namespace
}  // namespace millrace
