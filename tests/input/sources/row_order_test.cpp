#include "millrace/input/sources/row_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <vector>

#include "millrace/core/random.h"
#include "tests/input/chi_square.h"

namespace millrace {
namespace {

using testing_support::bound;
using testing_support::chi_square;

std::vector<uint64_t> pass_of(const RowOrder& order, uint32_t pass) {
  std::vector<uint64_t> out;
  for (uint64_t place = 0; place < order.places(); ++place) out.push_back(order.row(pass, place));
  return out;
}

std::vector<uint64_t> all_rows(uint64_t rows) {
  std::vector<uint64_t> out(rows);
  std::iota(out.begin(), out.end(), uint64_t{0});
  return out;
}

TEST(RowOrder, KeepsTheOrderUnlessItShuffles) {
  EXPECT_EQ(pass_of(RowOrder({.rows = 5}), 3), all_rows(5));
  EXPECT_EQ(RowOrder().places(), 0u);
}

TEST(RowOrder, GivesEveryRowOnceAndKnowsItsPlace) {
  for (uint64_t rows = 0; rows < 70; ++rows) {
    const RowOrder order({.rows = rows, .shuffle = true, .seed = 5, .stream = 9});
    for (const uint32_t pass : {0u, 1u, 4000000000u}) {
      std::vector<uint64_t> found = pass_of(order, pass);
      for (uint64_t place = 0; place < rows; ++place) EXPECT_EQ(order.place(pass, found[place]), place);
      std::ranges::sort(found);
      EXPECT_EQ(found, all_rows(rows));
    }
    EXPECT_EQ(order.place(0, rows), std::nullopt);
  }
}

// docs/input_graph.md has this example.
TEST(RowOrder, IsTheDocumentedOrder) {
  const RowOrder order({.rows = 5, .shuffle = true, .seed = 23, .stream = fnv1a64("lmdb_reader")});
  EXPECT_EQ(pass_of(order, 0), (std::vector<uint64_t>{2, 0, 4, 1, 3}));
  EXPECT_EQ(pass_of(order, 1), (std::vector<uint64_t>{3, 4, 0, 2, 1}));
}

TEST(RowOrder, IsAnotherForEachPassSeedAndName) {
  const RowOrder::Settings settings = {.rows = 100, .shuffle = true, .seed = 5, .stream = 9};
  const std::vector<uint64_t> first = pass_of(RowOrder(settings), 0);
  EXPECT_EQ(pass_of(RowOrder(settings), 0), first);
  EXPECT_NE(pass_of(RowOrder(settings), 1), first);
  RowOrder::Settings other = settings;
  other.seed = 6;
  EXPECT_NE(pass_of(RowOrder(other), 0), first);
  other = settings;
  other.stream = 10;
  EXPECT_NE(pass_of(RowOrder(other), 0), first);
}

TEST(RowOrder, ShardsShareOutEveryPass) {
  for (const bool shuffle : {false, true}) {
    std::vector<uint64_t> found;
    for (uint64_t index = 0; index < 3; ++index) {
      const RowOrder shard(
          {.rows = 10, .shuffle = shuffle, .seed = 5, .stream = 9, .shard_index = index, .shard_count = 3});
      EXPECT_EQ(shard.places(), index == 0 ? 4u : 3u);
      const std::vector<uint64_t> part = pass_of(shard, 2);
      for (uint64_t place = 0; place < part.size(); ++place) EXPECT_EQ(shard.place(2, part[place]), place);
      found.insert(found.end(), part.begin(), part.end());
      for (uint64_t row = 0; row < 10; ++row) {
        EXPECT_EQ(shard.place(2, row).has_value(), std::ranges::find(part, row) != part.end());
      }
    }
    std::ranges::sort(found);
    EXPECT_EQ(found, all_rows(10));
  }
  EXPECT_EQ(RowOrder({.rows = 2, .shard_index = 2, .shard_count = 3}).places(), 0u);
}

TEST(RowOrder, TakesMoreRowsThanMemoryHas) {
  const RowOrder order({.rows = uint64_t{1} << 60, .shuffle = true, .seed = 5, .stream = 9});
  for (const uint64_t place : {uint64_t{0}, uint64_t{12345}, (uint64_t{1} << 60) - 1}) {
    EXPECT_EQ(order.place(7, order.row(7, place)), place);
  }
}

TEST(RowOrder, EveryOrderOfAFewRowsIsAsLikely) {
  std::map<std::vector<uint64_t>, int64_t> counts;
  for (uint64_t seed = 0; seed < 24000; ++seed) {
    ++counts[pass_of(RowOrder({.rows = 5, .shuffle = true, .seed = seed, .stream = 9}), 0)];
  }
  std::vector<int64_t> numbers;
  for (const auto& [order, count] : counts) numbers.push_back(count);
  ASSERT_EQ(numbers.size(), 120u);
  EXPECT_LT(chi_square(numbers), bound(119));
}

TEST(RowOrder, EveryPairOfNeighboursIsAsLikely) {
  constexpr uint64_t kRows = 12;
  std::map<std::pair<uint64_t, uint64_t>, int64_t> counts;
  for (uint32_t pass = 0; pass < 30000; ++pass) {
    const RowOrder order({.rows = kRows, .shuffle = true, .seed = 5, .stream = 9});
    ++counts[{order.row(pass, 6), order.row(pass, 7)}];
  }
  std::vector<int64_t> numbers;
  for (const auto& [pair, count] : counts) numbers.push_back(count);
  ASSERT_EQ(numbers.size(), kRows * (kRows - 1));
  EXPECT_LT(chi_square(numbers), bound(static_cast<double>(numbers.size() - 1)));
}

}  // namespace
}  // namespace millrace
