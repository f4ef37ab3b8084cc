#include "millrace/core/kernels/images/tiles.h"

#include <gtest/gtest.h>

namespace millrace::cpu {
namespace {

void expect_whole(const ImageTiles& tiles, int64_t batch) {
  EXPECT_EQ(tiles.begin(0), 0);
  int64_t images = 0;
  for (int64_t tile = 0; tile < tiles.count(); ++tile) {
    EXPECT_EQ(tiles.begin(tile), images);
    EXPECT_LE(tiles.images(tile), tiles.most_images());
    EXPECT_GE(tiles.images(tile), tiles.least_images());
    images += tiles.images(tile);
  }
  EXPECT_EQ(images, batch);
  EXPECT_GE(tiles.least_images(), 1);
  EXPECT_LE(tiles.most_images() - tiles.least_images(), 1);
}

TEST(ImageTiles, HoldEveryImageOnce) {
  for (const int64_t batch : {1, 2, 15, 16, 17, 23, 64, 1000}) {
    for (const int64_t work : {1, 1 << 16, 1 << 20, 1 << 26}) {
      for (const int64_t most : {1, 4, 1000000}) {
        const ImageTiles tiles(batch, work, most);
        expect_whole(tiles, batch);
        EXPECT_LE(tiles.count(), most);
      }
    }
  }
  for (const int64_t batch : {1, 7, 18, 64, 100}) {
    const ImageTiles even = ImageTiles(batch, 1 << 20, 1000).evened();
    expect_whole(even, batch);
    EXPECT_EQ(even.most_images(), even.least_images()) << batch;
    EXPECT_LE(even.count(), ImageTiles(batch, 1 << 20, 1000).count());
  }
  EXPECT_EQ(ImageTiles(18, 1 << 20, 1000).evened().count(), 9);
}

TEST(ImageTiles, AreWorthATaskAndNotTooLarge) {
  EXPECT_EQ(ImageTiles(64, 1, 1000).count(), 1);
  EXPECT_EQ(ImageTiles(64, 1 << 15, 1000).count(), 2);
  EXPECT_EQ(ImageTiles(64, 1 << 20, 1000).count(), 16);
  EXPECT_EQ(ImageTiles(64, 1 << 24, 1000).count(), 64);
  EXPECT_EQ(ImageTiles(64, INT64_MAX, 1000).count(), 64);
}

}  // namespace
}  // namespace millrace::cpu
