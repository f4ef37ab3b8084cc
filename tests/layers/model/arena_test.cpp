#include "millrace/layers/model/arena.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "millrace/core/errors.h"
#include "millrace/core/random.h"

namespace millrace {
namespace {

// A value that weighs what it takes.
ArenaValue sized(size_t bytes, int first, int last) {
  return {.bytes = bytes, .weight = bytes, .first = first, .last = last};
}

TEST(Arena, SharesMemoryOfValuesThatNeverMeet) {
  Arena arena;
  const size_t a = arena.add(sized(100, 0, 1)), b = arena.add(sized(128, 2, 3)), c = arena.add(sized(64, 1, 2));
  arena.place();
  EXPECT_EQ(arena.offset(a), 0U);
  EXPECT_EQ(arena.offset(b), 0U);
  EXPECT_EQ(arena.offset(c), 128U);
  EXPECT_EQ(arena.bytes(), 192U);
}

TEST(Arena, ValuesMeetAtACommonEnd) {
  Arena arena;
  arena.add(sized(64, 0, 1));
  arena.add(sized(64, 1, 2));
  arena.place();
  EXPECT_EQ(arena.bytes(), 128U);
}

TEST(Arena, SeparatesAllWhenAsked) {
  Arena arena;
  arena.add(sized(64, 0, 0));
  arena.add(sized(64, 1, 1));
  arena.add({.bytes = 64, .first = 2, .last = 2});
  arena.place(false);
  EXPECT_EQ(arena.bytes(), 192U);
}

TEST(Arena, FillsGaps) {
  Arena arena;
  const size_t low = arena.add(sized(256, 0, 9)), middle = arena.add(sized(192, 0, 4));
  const size_t high = arena.add(sized(128, 2, 6)), late = arena.add(sized(64, 5, 7));
  arena.place();
  EXPECT_EQ(arena.offset(low), 0U);
  EXPECT_EQ(arena.offset(middle), 256U);
  EXPECT_EQ(arena.offset(high), 448U);
  EXPECT_EQ(arena.offset(late), 256U);
  EXPECT_EQ(arena.bytes(), 576U);
}

TEST(Arena, ClosesGapsThatOnlyWeightsHave) {
  Arena arena;
  arena.add({.bytes = 640, .weight = 3, .first = 0, .last = 9});
  const size_t light = arena.add({.bytes = 128, .weight = 200, .first = 0, .last = 3});
  arena.add({.bytes = 0, .weight = 100, .first = 0, .last = 3});
  const size_t above = arena.add({.bytes = 64, .weight = 1, .first = 3, .last = 4});
  arena.place();
  EXPECT_EQ(arena.offset(light), 640U);
  EXPECT_EQ(arena.offset(above), 768U);
  EXPECT_EQ(arena.bytes(), 832U);
}

TEST(Arena, WhatHasNoWeightIsKeptApartToo) {
  Arena arena;
  const size_t a = arena.add({.bytes = 64, .first = 0, .last = 2}), b = arena.add({.bytes = 64, .first = 1, .last = 2});
  arena.place();
  EXPECT_EQ(arena.offset(a), 0U);
  EXPECT_EQ(arena.offset(b), 64U);
}

TEST(Arena, MayBeEmpty) {
  Arena arena;
  arena.place();
  EXPECT_EQ(arena.bytes(), 0U);
  Arena nothing;
  const size_t value = nothing.add(sized(0, 0, 5));
  nothing.place();
  EXPECT_EQ(nothing.offset(value), 0U);
  EXPECT_EQ(nothing.bytes(), 0U);
}

TEST(Arena, RefusesWhatItCannotCount) {
  constexpr size_t most = std::numeric_limits<size_t>::max();
  Arena arena;
  EXPECT_THROW(arena.add(sized(most, 0, 0)), ShapeError);
  arena.add(sized(most / 2, 0, 0));
  arena.add(sized(most / 2, 0, 0));
  arena.add(sized(64, 0, 0));
  EXPECT_THROW(arena.place(), ShapeError);
  EXPECT_THROW(arena.place(false), ShapeError);
}

// Values that live together never overlap, whatever their sizes and times; no place is worse than none shared.
TEST(Arena, KeepsApartWhatLivesTogether) {
  for (uint64_t round = 0; round < 200; ++round) {
    struct Value {
      size_t bytes, number;
      int first, last;
    };
    std::vector<Value> values;
    Arena arena;
    size_t sum = 0, live = 0;
    const uint64_t count = 1 + philox64(round, 1, 0) % 24;
    for (uint64_t i = 0; i < count; ++i) {
      const size_t bytes = philox64(round, 2, i) % 1000;
      const int first = static_cast<int>(philox64(round, 3, i) % 20);
      const int last = first + static_cast<int>(philox64(round, 4, i) % 10);
      values.push_back({bytes, arena.add({bytes, philox64(round, 5, i) % 4, first, last}), first, last});
      sum += (bytes + 63) / 64 * 64;
    }
    arena.place();
    for (const Value& a : values) {
      EXPECT_EQ(arena.offset(a.number) % 64, 0U);
      EXPECT_LE(arena.offset(a.number) + a.bytes, arena.bytes());
      for (const Value& b : values) {
        if (a.number == b.number || a.last < b.first || b.last < a.first) continue;
        const bool apart = arena.offset(a.number) + a.bytes <= arena.offset(b.number) ||
                           arena.offset(b.number) + b.bytes <= arena.offset(a.number);
        EXPECT_TRUE(apart) << round;
      }
    }
    for (int time = 0; time < 30; ++time) {
      size_t now = 0;
      for (const Value& value : values) now += value.first <= time && time <= value.last ? value.bytes : 0;
      live = std::max(live, now);
    }
    EXPECT_LE(arena.bytes(), sum);
    EXPECT_GE(arena.bytes(), live);
  }
}

// Whatever the sizes, as long as more rows take no less.
TEST(Arena, IsNoLargerForFewerRows) {
  for (uint64_t round = 0; round < 100; ++round) {
    const auto draw = [&](uint64_t stream, uint64_t i, uint64_t below) { return philox64(round, stream, i) % below; };
    size_t fewer = 0;
    for (uint64_t rows = 1; rows <= 70; ++rows) {
      Arena arena;
      for (uint64_t i = 0; i < 20; ++i) {
        const int first = static_cast<int>(draw(1, i, 20)), last = first + static_cast<int>(draw(2, i, 10));
        const size_t bytes = 1 + draw(3, i, 200) + draw(4, i, 500) * (rows / (1 + draw(5, i, 30)));
        arena.add({.bytes = bytes, .weight = draw(6, i, 5), .first = first, .last = last});
      }
      arena.place();
      ASSERT_GE(arena.bytes(), fewer) << "round " << round << ", " << rows << " rows";
      fewer = arena.bytes();
    }
  }
}

}  // namespace
}  // namespace millrace
