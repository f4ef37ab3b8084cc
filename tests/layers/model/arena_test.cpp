#include "millrace/layers/model/arena.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "millrace/core/errors.h"
#include "millrace/core/random.h"

namespace millrace {
namespace {

TEST(Arena, SharesMemoryOfValuesThatNeverMeet) {
  Arena arena;
  const size_t a = arena.add(100, 0, 1), b = arena.add(128, 2, 3), c = arena.add(64, 1, 2);
  arena.place();
  EXPECT_EQ(arena.offset(a), 0U);
  EXPECT_EQ(arena.offset(b), 0U);
  EXPECT_EQ(arena.offset(c), 128U);
  EXPECT_EQ(arena.bytes(), 192U);
}

TEST(Arena, ValuesMeetAtACommonEnd) {
  Arena arena;
  arena.add(64, 0, 1);
  arena.add(64, 1, 2);
  arena.place();
  EXPECT_EQ(arena.bytes(), 128U);
}

TEST(Arena, SeparatesAllWhenAsked) {
  Arena arena;
  arena.add(64, 0, 0);
  arena.add(64, 1, 1);
  arena.add(64, 2, 2);
  arena.place(false);
  EXPECT_EQ(arena.bytes(), 192U);
}

TEST(Arena, FillsGaps) {
  Arena arena;
  const size_t low = arena.add(256, 0, 9), middle = arena.add(192, 0, 3), high = arena.add(128, 0, 9);
  const size_t late = arena.add(64, 4, 9);
  arena.place();
  EXPECT_EQ(arena.offset(low), 0U);
  EXPECT_EQ(arena.offset(middle), 256U);
  EXPECT_EQ(arena.offset(high), 448U);
  EXPECT_EQ(arena.offset(late), 256U);
  EXPECT_EQ(arena.bytes(), 576U);
}

TEST(Arena, MayBeEmpty) {
  Arena arena;
  arena.place();
  EXPECT_EQ(arena.bytes(), 0U);
  Arena nothing;
  const size_t value = nothing.add(0, 0, 5);
  nothing.place();
  EXPECT_EQ(nothing.offset(value), 0U);
  EXPECT_EQ(nothing.bytes(), 0U);
}

TEST(Arena, RefusesWhatItCannotCount) {
  constexpr size_t most = std::numeric_limits<size_t>::max();
  Arena arena;
  EXPECT_THROW(arena.add(most, 0, 0), ShapeError);
  arena.add(most / 2, 0, 0);
  arena.add(most / 2, 0, 0);
  arena.add(64, 0, 0);
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
      values.push_back({bytes, arena.add(bytes, first, last), first, last});
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

}  // namespace
}  // namespace millrace
