#include "millrace/input/parquet/delta_numbers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "millrace/core/random.h"
#include "millrace/input/parquet/bit_runs.h"
#include "tests/input/op_testing.h"
#include "tests/input/parquet/parquet_bytes.h"

namespace millrace {
namespace {

using testing_support::delta_of;
using testing_support::error_of;
using testing_support::varint;
using testing_support::zigzag;

std::span<const std::byte> span_of(const std::string& text, size_t bytes) {
  return {reinterpret_cast<const std::byte*>(text.data()), bytes};
}

std::vector<int64_t> numbers(size_t count, int bits) {
  std::vector<int64_t> out;
  for (size_t i = 0; i < count; ++i) out.push_back(static_cast<int64_t>(philox64(9, i, 1)) >> (64 - bits));
  return out;
}

TEST(DeltaNumbers, ReadsAndSkipsInPiecesOfAnySize) {
  for (const int bits : {1, 7, 20, 31, 32, 33, 60, 64}) {
    for (const size_t count : {0u, 1u, 2u, 33u, 129u, 300u}) {
      const std::vector<int64_t> all = numbers(count, bits);
      const std::string text = delta_of(all), with_rest = text + "rest" + std::string(kPageSlack, 'x');
      for (const size_t piece : {1u, 5u, 128u, 1000u}) {
        DeltaNumbers delta(span_of(with_rest, text.size() + 4));
        std::vector<int64_t> got(count);
        for (size_t at = 0; at < count; at += piece) {
          const size_t some = std::min(piece, count - at);
          DeltaNumbers copy = delta;
          copy.read(got.data() + at, some);
          delta.skip(some);
        }
        EXPECT_EQ(got, all) << bits << ' ' << count << ' ' << piece;
        EXPECT_EQ(DeltaNumbers(delta).rest().size(), 4u);
      }
      EXPECT_EQ(DeltaNumbers(span_of(with_rest, text.size() + 4)).rest().size(), 4u) << bits << ' ' << count;
    }
  }
}

TEST(DeltaNumbers, SumsWrapAround) {
  const std::vector<int64_t> all = {INT32_MAX, INT32_MIN, 0, INT32_MAX, -1};
  const std::string text = delta_of(all) + std::string(kPageSlack, 'x');
  std::vector<int32_t> got(all.size());
  DeltaNumbers(span_of(text, text.size() - kPageSlack)).read(got.data(), got.size());
  EXPECT_TRUE(std::equal(got.begin(), got.end(), all.begin()));
  const std::vector<int64_t> ends = {INT64_MAX, INT64_MIN, INT64_MAX, 0};
  const std::string wide = delta_of(ends) + std::string(kPageSlack, 'x');
  std::vector<int64_t> got_ends(ends.size());
  DeltaNumbers(span_of(wide, wide.size() - kPageSlack)).read(got_ends.data(), got_ends.size());
  EXPECT_EQ(got_ends, ends);
}

TEST(DeltaNumbers, RefusesWhatIsNotThere) {
  const auto error = [](const std::string& text, size_t count) {
    return error_of([&] {
      const std::string whole = text + std::string(kPageSlack, '\x7f');
      std::vector<int64_t> got(count);
      DeltaNumbers delta(span_of(whole, text.size()));
      DeltaNumbers(delta).rest();
      delta.read(got.data(), count);
    });
  };
  const std::string all = delta_of(numbers(97, 30));
  EXPECT_EQ(error(all, 97), "no error");
  EXPECT_NE(error(all, 98).find("fewer values"), std::string::npos);
  for (size_t size = 0; size < all.size(); ++size) {
    EXPECT_NE(error(all.substr(0, size), 97).find("ends too early"), std::string::npos) << size;
  }
  const auto head = [](uint64_t block, uint64_t parts) {
    return varint(block) + varint(parts) + varint(2) + zigzag(0);
  };
  for (const std::string& odd : {head(0, 1), head(128, 0), head(100, 3), head(uint64_t{1} << 40, 4)}) {
    EXPECT_NE(error(odd + std::string(300, '\0'), 2).find("blocks of an odd size"), std::string::npos);
  }
  EXPECT_NE(error(head(128, 1) + zigzag(0) + "\x41" + std::string(2000, '\0'), 2).find("more than 64 bits"),
            std::string::npos);
  const std::string whole = all + std::string(kPageSlack, '\x7f');
  EXPECT_EQ(error_of([&] { DeltaNumbers(span_of(whole, all.size()), 97); }), "no error");
  EXPECT_NE(error_of([&] { DeltaNumbers(span_of(whole, all.size()), 96); }).find("more values than it says"),
            std::string::npos);
  // A count that no bytes stand for takes no time.
  EXPECT_NE(error(varint(128) + varint(4) + varint(UINT64_MAX) + zigzag(0), 2).find("ends too early"),
            std::string::npos);
}

}  // namespace
}  // namespace millrace
