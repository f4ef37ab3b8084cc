#include "millrace/core/kernels/tile_grid.h"

#include <gtest/gtest.h>

#include <vector>

namespace millrace::cpu {
namespace {

constexpr TileGrid::Limits kLimits = {256, 128, 64, 64};

TEST(TileGrid, CoversEveryElementOnce) {
  for (const int64_t m : {1, 7, 64, 255, 256, 257, 1000}) {
    for (const int64_t n : {1, 15, 16, 127, 128, 129, 1024, 1025}) {
      for (const int64_t k : {1, 1024, 100000}) {
        const TileGrid grid(m, n, k, kLimits);
        std::vector<int> visits(static_cast<size_t>(m * n));
        for (int64_t index = 0; index < grid.count(); ++index) {
          const Tile tile = grid.tile(index);
          ASSERT_TRUE(tile.rows >= 1 && tile.rows <= grid.rows() && grid.rows() <= kLimits.most_rows);
          ASSERT_TRUE(tile.columns >= 1 && tile.columns <= grid.columns() && grid.columns() <= kLimits.most_columns);
          for (int64_t i = tile.row; i < tile.row + tile.rows; ++i) {
            for (int64_t j = tile.column; j < tile.column + tile.columns; ++j) ++visits[static_cast<size_t>(i * n + j)];
          }
        }
        for (const int visit : visits) ASSERT_EQ(visit, 1);
      }
    }
  }
}

TEST(TileGrid, LeavesSmallProductsWhole) { EXPECT_EQ(TileGrid(64, 64, 64, kLimits).count(), 1); }

TEST(TileGrid, CutsLargeProductsForManyThreads) {
  EXPECT_EQ(TileGrid(256, 1024, 1024, kLimits).count(), 16);
  EXPECT_EQ(TileGrid(256, 128, 4096, kLimits).count(), 8);
  constexpr TileGrid::Limits kLow = {64, 256, 64, 64};
  EXPECT_EQ(TileGrid(256, 1024, 1024, kLow).count(), 16);
  EXPECT_EQ(TileGrid(256, 128, 4096, kLow).count(), 8);
}

TEST(TileGrid, HasNoSliversAtItsEdges) {
  const TileGrid grid(257, 129, 16, kLimits);
  for (int64_t index = 0; index < grid.count(); ++index) {
    EXPECT_GE(grid.tile(index).rows, 120);
    EXPECT_GE(grid.tile(index).columns, 48);
  }
}

}  // namespace
}  // namespace millrace::cpu
