#include "millrace/input/run/chunk_sizes.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

TEST(ChunkSizes, WantsFewerChunksTheLargerTheyGet) {
  ChunkSizes sizes;
  EXPECT_EQ(sizes.wanted(1000, 3), 3u) << "nothing is known of them yet";
  EXPECT_TRUE(sizes.add(10, {}, {}));
  EXPECT_EQ(sizes.wanted(100, 3), 13u);
  EXPECT_EQ(sizes.wanted(101, 3), 14u);
  EXPECT_EQ(sizes.wanted(0, 3), 3u);
  EXPECT_TRUE(sizes.add(50, {}, {}));
  EXPECT_FALSE(sizes.add(10, {}, {}));
  EXPECT_EQ(sizes.wanted(100, 3), 5u);
}

TEST(ChunkSizes, BoundsTheChunksOfALargeCapacity) {
  ChunkSizes sizes;
  sizes.add(1, {}, {});
  EXPECT_EQ(sizes.wanted(1000000000000, 3), 3u + 256u);
}

TEST(ChunkSizes, CoversTheRowsAndWhatIsWrittenBesideThem) {
  ChunkSizes sizes;
  EXPECT_TRUE(sizes.add(1, {.bytes = 100, .ids = 1}, {}));
  EXPECT_FALSE(sizes.has_spares());
  EXPECT_TRUE(sizes.add(1, {.bytes = 50, .ids = 1}, {.bytes = 300, .ids = 2}));
  EXPECT_TRUE(sizes.has_spares());
  EXPECT_EQ(sizes.memory().bytes, 300u);
  EXPECT_EQ(sizes.memory().ids, 2u);
  EXPECT_FALSE(sizes.add(1, {.bytes = 300, .ids = 1}, {.bytes = 200, .ids = 2}));
}

}  // namespace
}  // namespace millrace
