#include "millrace/core/parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <numeric>
#include <vector>

#include "tests/support/thread_block.h"

namespace millrace {
namespace {

constexpr int kWidths[] = {1, 4, 32};

TEST(BlockLanes, EachVisitsEveryIndexOnce) {
  for (const int width : kWidths) {
    for (const int64_t count : {0, 1, 3, 31, 32, 33, 200}) {
      std::vector<std::atomic<int>> seen(static_cast<size_t>(count));
      test::run_block(width, [&](const auto& lanes) { lanes.each(count, [&](int64_t k) { ++seen[size_t(k)]; }); });
      for (const auto& times : seen) EXPECT_EQ(times, 1) << width << ' ' << count;
    }
  }
}

TEST(BlockLanes, EachVisitsEveryPairOnce) {
  for (const int width : kWidths) {
    for (const int64_t outer : {0, 1, 5, 40}) {
      for (const int64_t inner : {0, 1, 3, 31, 32, 33, 70}) {
        std::vector<std::atomic<int>> seen(static_cast<size_t>(outer * inner));
        test::run_block(width, [&](const auto& lanes) {
          lanes.each(outer, inner, [&](int64_t i, int64_t k) {
            ASSERT_LT(k, inner);
            ++seen.at(static_cast<size_t>(i * inner + k));
          });
        });
        for (const auto& times : seen) EXPECT_EQ(times, 1) << width << ' ' << outer << ' ' << inner;
      }
    }
  }
}

// Whole numbers, which every order adds up to the same.
double value(int64_t k) { return static_cast<double>(k * k % 101) - 40; }

TEST(BlockLanes, EveryLaneGetsTheResults) {
  for (const int width : kWidths) {
    for (const int64_t count : {1, 2, 31, 33, 500}) {
      double sum = 0, most = value(0);
      SumPair pair;
      for (int64_t k = 0; k < count; ++k) {
        sum += value(k);
        most = std::max(most, value(k));
        for (int64_t i = 0; i < 3; ++i) pair += {value(k), static_cast<double>(i)};
      }
      std::atomic<int> right = 0;
      test::run_block(width, [&](const auto& lanes) {
        for (int round = 0; round < 3; ++round) {
          const double total = lanes.sum(count, value);
          const double largest = lanes.most(count, value);
          const SumPair sums = lanes.sum(3, count, [](int64_t i, int64_t k) {
            return SumPair{value(k), static_cast<double>(i)};
          });
          right += total == sum && largest == most && sums.first == pair.first && sums.second == pair.second;
        }
      });
      EXPECT_EQ(right, 3 * width) << count;
    }
  }
}

TEST(BlockLanes, OneIsFirst) {
  std::atomic<int> firsts = 0;
  test::run_block(8, [&](const auto& lanes) { firsts += lanes.first() ? 1 : 0; });
  EXPECT_EQ(firsts, 1);
}

TEST(BlockLanes, SumsInOneOrder) {
  const auto term = [](int64_t k) { return 1.0 / static_cast<double>(3 * k + 1); };
  // Four lanes, each of every fourth term.
  double lane[4] = {};
  for (int64_t k = 0; k < 1001; ++k) lane[k % 4] += term(k);
  const double expected = lane[0] + lane[1] + lane[2] + lane[3];
  test::run_block(4, [&](const auto& lanes) { EXPECT_EQ(lanes.sum(1001, term), expected); });
}

TEST(OneLane, GoesInOrder) {
  std::vector<int64_t> order;
  const OneLane lane;
  EXPECT_TRUE(lane.first());
  lane.each(3, [&](int64_t k) { order.push_back(k); });
  lane.each(2, 2, [&](int64_t i, int64_t k) { order.push_back(10 * i + k); });
  EXPECT_EQ(order, (std::vector<int64_t>{0, 1, 2, 0, 1, 10, 11}));
  EXPECT_EQ(lane.sum(4, value), value(0) + value(1) + value(2) + value(3));
  EXPECT_EQ(lane.most(50, value), 60);
  EXPECT_EQ(lane.sum(2, 3, [](int64_t i, int64_t k) { return static_cast<double>(10 * i + k); }), 36);
}

TEST(LanesFor, GrowsWithTheRow) {
  EXPECT_EQ(lanes_for(0), 32);
  EXPECT_EQ(lanes_for(128), 32);
  EXPECT_EQ(lanes_for(129), 64);
  EXPECT_EQ(lanes_for(1'000'000), kMostLanes);
}

}  // namespace
}  // namespace millrace
