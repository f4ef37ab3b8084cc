#include "millrace/input/parquet/bit_runs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "millrace/core/random.h"
#include "tests/input/op_testing.h"
#include "tests/input/parquet/parquet_bytes.h"

namespace millrace {
namespace {

using testing_support::error_of;
using testing_support::packed_bits;
using testing_support::packed_run;
using testing_support::repeated_run;
using testing_support::varint;

// The bytes, and room after them.
class Bytes {
 public:
  explicit Bytes(const std::string& text) : text_(text + std::string(kPageSlack, '\x55')) {}
  std::span<const std::byte> span() const {
    return {reinterpret_cast<const std::byte*>(text_.data()), text_.size() - kPageSlack};
  }

 private:
  std::string text_;
};

uint64_t draw(uint64_t i, int width) {
  return width == 0 ? 0 : philox64(3, i, static_cast<uint64_t>(width)) >> (64 - width);
}

TEST(UnpackBits, ReadsEveryWidthFromEveryPlace) {
  for (int width = 0; width <= 32; ++width) {
    std::vector<uint64_t> numbers;
    for (uint64_t i = 0; i < 70; ++i) numbers.push_back(draw(i, width));
    const Bytes bytes(packed_bits(numbers, width));
    for (size_t from = 0; from < 20; ++from) {
      std::vector<uint32_t> got(50);
      unpack_bits(bytes.span().data(), from * static_cast<uint64_t>(width), width, got.data(), got.size());
      for (size_t i = 0; i < got.size(); ++i) ASSERT_EQ(got[i], numbers[from + i]) << width << ' ' << from << ' ' << i;
    }
  }
}

class BitRunsTest : public ::testing::Test {
 protected:
  // Runs of both kinds, of many lengths.
  void add(int width) {
    text_.clear();
    numbers_.clear();
    for (uint64_t run = 0; run < 12; ++run) {
      const uint64_t count = run % 3 == 0 ? 8 * (run + 1) : 1 + 37 * run;
      std::vector<uint64_t> some;
      for (uint64_t i = 0; i < count; ++i) some.push_back(draw(run % 3 == 0 ? 100 * run + i : run, width));
      text_ += run % 3 == 0 ? packed_run(some, width) : repeated_run(count, some.front(), width);
      numbers_.insert(numbers_.end(), some.begin(), some.end());
    }
  }
  std::string text_;
  std::vector<uint64_t> numbers_;
};

TEST_F(BitRunsTest, ReadsAndSkipsInPiecesOfAnySize) {
  for (const int width : {0, 1, 3, 8, 11, 17, 32}) {
    add(width);
    const Bytes bytes(text_);
    for (const size_t piece : {1u, 7u, 64u, 5000u}) {
      BitRuns runs(bytes.span(), width);
      std::vector<uint32_t> got(numbers_.size());
      for (size_t at = 0; at < got.size(); at += piece) {
        const size_t some = std::min(piece, got.size() - at);
        BitRuns copy = runs;
        copy.read(got.data() + at, some);
        runs.skip(some);
      }
      EXPECT_TRUE(std::equal(got.begin(), got.end(), numbers_.begin())) << width << ' ' << piece;
    }
  }
}

TEST_F(BitRunsTest, LooksNumbersUpInATable) {
  for (int width = 0; width <= 12; ++width) {
    add(width);
    const Bytes bytes(text_);
    std::vector<uint64_t> table(size_t{1} << width);
    for (size_t i = 0; i < table.size(); ++i) table[i] = (i + 1) << 40;
    for (const size_t piece : {1u, 3u, 8u, 29u, 512u}) {
      BitRuns runs(bytes.span(), width);
      std::vector<uint64_t> got(numbers_.size());
      for (size_t done = 0; done < got.size(); done += piece) {
        ASSERT_TRUE(runs.look_up(table.data(), table.size(), &got[done], std::min(piece, got.size() - done)));
      }
      for (size_t i = 0; i < got.size(); ++i) ASSERT_EQ(got[i], (numbers_[i] + 1) << 40) << width << ' ' << i;
    }
  }
}

TEST_F(BitRunsTest, LooksUpOnlyWhatATableHas) {
  const uint32_t table[] = {5, 6};
  uint32_t got[24] = {};
  const auto looks_up = [&](const std::string& text, int width, size_t size) {
    const Bytes bytes(text);
    return BitRuns(bytes.span(), width).look_up(table, size, got, 21);
  };
  EXPECT_TRUE(looks_up(repeated_run(21, 1, 2), 2, 2));
  EXPECT_FALSE(looks_up(repeated_run(21, 2, 2), 2, 2));
  EXPECT_FALSE(looks_up(repeated_run(21, 0, 2), 2, 0));
  EXPECT_TRUE(looks_up(packed_run(std::vector<uint64_t>(21, 1), 2), 2, 2));
  for (size_t place = 0; place < 21; ++place) {
    std::vector<uint64_t> numbers(21, 1);
    numbers[place] = 2;
    EXPECT_FALSE(looks_up(packed_run(numbers, 2), 2, 2)) << place;
    for (const uint64_t number : {0x7fffffffu, 0x80000000u, 0x80000001u, 0xffffffffu}) {
      numbers[place] = number;
      EXPECT_FALSE(looks_up(packed_run(numbers, 32), 32, 2)) << place << ' ' << number;
    }
  }
}

TEST_F(BitRunsTest, CountsNumbersAndKnowsRepetitions) {
  add(2);
  const Bytes bytes(text_);
  BitRuns runs(bytes.span(), 2);
  const size_t some = 100;
  EXPECT_EQ(runs.skip_counting(some, 3),
            static_cast<size_t>(std::count(numbers_.begin(), numbers_.begin() + some, 3u)));
  EXPECT_EQ(runs.skip_counting(numbers_.size() - some, 3),
            static_cast<size_t>(std::count(numbers_.begin() + some, numbers_.end(), 3u)));

  const Bytes two(repeated_run(10, 1, 1) + packed_run({1, 1, 1}, 1));
  BitRuns levels(two.span(), 1);
  EXPECT_EQ(levels.repeated(10), 1u);
  EXPECT_EQ(levels.repeated(11), std::nullopt);
  levels.skip(10);
  EXPECT_EQ(levels.repeated(3), std::nullopt) << "packed";
}

TEST_F(BitRunsTest, RefusesNumbersAboveTheLargest) {
  for (const std::string& text : {repeated_run(8, 3, 2), packed_run({0, 1, 2, 0, 3}, 2)}) {
    const Bytes bytes(text);
    std::vector<uint8_t> got(8);
    EXPECT_EQ(error_of([&] { BitRuns(bytes.span(), 2, 3).read(got.data(), 8); }), "no error");
    EXPECT_NE(error_of([&] { BitRuns(bytes.span(), 2, 2).read(got.data(), 8); }).find("above the largest"),
              std::string::npos);
    EXPECT_NE(error_of([&] { BitRuns(bytes.span(), 2, 2).skip_counting(8, 2); }).find("above the largest"),
              std::string::npos);
  }
}

TEST_F(BitRunsTest, RefusesWhatIsNotThere) {
  const auto error = [](const std::string& text, size_t count, int width = 3) {
    return error_of([&] {
      const Bytes bytes(text);
      std::vector<uint32_t> got(count);
      BitRuns(bytes.span(), width).read(got.data(), count);
    });
  };
  const std::string few =
      "the Parquet file is damaged: a page has fewer values than it says; was it copied or downloaded as a whole?";
  EXPECT_EQ(error(repeated_run(5, 2, 3), 5), "no error");
  EXPECT_EQ(error(repeated_run(5, 2, 3), 6), few);
  EXPECT_EQ(error("", 1), few);
  EXPECT_EQ(error(varint(uint64_t{1} << 40), 1), few) << "a run without its number";
  EXPECT_EQ(error(packed_run({1, 2, 3}, 3), 9), few);
  EXPECT_EQ(error(varint(100000 << 1 | 1) + "abc", 8), "no error") << "the bytes of what is not needed may be missing";
  EXPECT_EQ(error(varint(100000 << 1 | 1) + "abc", 9), few);
  EXPECT_EQ(error(varint(0) + varint(1) + repeated_run(1, 1, 3), 1), "no error") << "empty runs";
  EXPECT_NE(error(repeated_run(5, 8, 3), 1).find("above the largest"), std::string::npos) << "in a whole byte";
  EXPECT_EQ(error("abc", 1, 33).substr(0, 73),
            "the Parquet file is damaged: a page has numbers of more than 32 bits; was");
  EXPECT_NE(error(std::string(12, '\xff'), 1).find("a run without a length"), std::string::npos);
}

}  // namespace
}  // namespace millrace
