#include "millrace/input/pictures/picture_scaler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "millrace/core/crc32.h"
#include "tests/input/pictures/pictures.h"

namespace millrace {
namespace {

using testing_support::Pixels;
using testing_support::planes;
using testing_support::random_picture;
using testing_support::reduced;
using testing_support::scaled;
using testing_support::stored_for;
using testing_support::target_of;

// What the scaler makes of a picture, whose lines it gets reduced.
std::vector<uint8_t> scale(const Pixels& picture, const PictureTarget& target, int orientation = 1, int reduction = 1) {
  std::vector<uint8_t> out(static_cast<size_t>(target.channels * target.height * target.width), 99);
  const Pixels lines = reduced(picture, reduction);
  PictureScaler scaler;
  scaler.begin(target, {picture.width, picture.height, orientation}, reduction, out.data());
  EXPECT_EQ(scaler.width(), lines.width);
  EXPECT_EQ(scaler.lines(), lines.height);
  const int64_t bytes = lines.width * lines.channels;
  for (int64_t y = 0; y < lines.height; ++y) {
    std::copy_n(lines.values.data() + y * bytes, bytes, scaler.line());
    scaler.add_line();
  }
  return out;
}

Pixels grey(int64_t width, int64_t height, std::vector<uint8_t> values) {
  return {width, height, 1, std::move(values)};
}

using Bytes = std::vector<uint8_t>;

TEST(PictureScaler, GivesAPictureOfTheTargetsSizeAsItIs) {
  for (const int64_t channels : {1, 3}) {
    const Pixels picture = random_picture(11, 7, channels);
    for (const Resize resize : {Resize::crop, Resize::stretch, Resize::pad}) {
      EXPECT_EQ(scale(picture, target_of(channels, 7, 11, resize)), planes(picture));
    }
  }
}

TEST(PictureScaler, MixesNeighbours) {
  // 2 x 2 to one: the mean. 4 to 2: of two each. 2 to 4: at the quarters, and the ends stay.
  EXPECT_EQ(scale(grey(2, 2, {0, 10, 20, 31}), target_of(1, 1, 1)), (Bytes{15}));
  EXPECT_EQ(scale(grey(2, 2, {0, 1, 0, 1}), target_of(1, 1, 1)), (Bytes{1})) << "a half is rounded up";
  EXPECT_EQ(scale(grey(4, 1, {10, 20, 100, 200}), target_of(1, 1, 2, Resize::stretch)), (Bytes{15, 150}));
  EXPECT_EQ(scale(grey(2, 1, {0, 100}), target_of(1, 1, 4, Resize::stretch)), (Bytes{0, 25, 75, 100}));
  EXPECT_EQ(scale(grey(1, 2, {0, 100}), target_of(1, 4, 1, Resize::stretch)), (Bytes{0, 25, 75, 100}));
  // 3 to 2: the middles lie at 0.25 and 1.75.
  EXPECT_EQ(scale(grey(3, 1, {0, 100, 200}), target_of(1, 1, 2, Resize::stretch)), (Bytes{25, 175}));
  EXPECT_EQ(scale(grey(1, 1, {77}), target_of(1, 2, 3, Resize::stretch)), Bytes(6, 77));
}

TEST(PictureScaler, CropTakesTheMiddle) {
  const Pixels wide = grey(4, 2, {1, 2, 3, 4, 5, 6, 7, 8}), high = grey(2, 4, {1, 2, 3, 4, 5, 6, 7, 8});
  EXPECT_EQ(scale(wide, target_of(1, 2, 2)), (Bytes{2, 3, 6, 7}));
  EXPECT_EQ(scale(high, target_of(1, 2, 2)), (Bytes{3, 4, 5, 6}));
  // Of an odd rest the smaller half is above and to the left.
  EXPECT_EQ(scale(grey(5, 2, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}), target_of(1, 2, 2)), (Bytes{2, 3, 7, 8}));
  EXPECT_EQ(scale(grey(2, 5, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}), target_of(1, 2, 2)), (Bytes{3, 4, 5, 6}));
  // It covers the target first: 4 x 2 to one pixel is the middle 2 x 2.
  EXPECT_EQ(scale(wide, target_of(1, 1, 1)), (Bytes{5}));  // (2 + 3 + 6 + 7) / 4, rounded up
}

TEST(PictureScaler, PadKeepsTheWholePictureAndFillsWithZero) {
  const Pixels wide = grey(4, 2, {1, 2, 3, 4, 5, 6, 7, 8});
  EXPECT_EQ(scale(wide, target_of(1, 4, 4, Resize::pad)), (Bytes{0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0, 0}));
  EXPECT_EQ(scale(wide, target_of(1, 5, 4, Resize::pad)),
            (Bytes{0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(scale(grey(1, 3, {7, 8, 9}), target_of(1, 3, 4, Resize::pad)), (Bytes{0, 7, 0, 0, 0, 8, 0, 0, 0, 9, 0, 0}));
  EXPECT_EQ(scale(grey(100, 1, Bytes(100, 50)), target_of(1, 3, 3, Resize::pad)), (Bytes{0, 0, 0, 50, 50, 50, 0, 0, 0}))
      << "a line stays of it, however flat it is";
}

TEST(PictureScaler, IsWithinOneOfTheDefinitionInDoubles) {
  struct Case {
    int64_t width, height, to_height, to_width;
  };
  const Case cases[] = {{64, 48, 32, 32}, {37, 91, 32, 32}, {31, 17, 40, 64}, {5, 5, 23, 7},     {100, 3, 9, 9},
                        {3, 100, 9, 9},   {33, 33, 32, 32}, {1, 9, 4, 4},     {200, 150, 11, 13}};
  double largest = 0;
  for (const auto& [width, height, to_height, to_width] : cases) {
    for (const int64_t channels : {1, 3}) {
      const Pixels picture = random_picture(width, height, channels, static_cast<uint64_t>(width));
      for (const Resize resize : {Resize::crop, Resize::stretch, Resize::pad}) {
        const PictureTarget target = target_of(channels, to_height, to_width, resize);
        for (const int reduction : {1, 2, 4, 8}) {
          const Bytes got = scale(picture, target, 1, reduction);
          const std::vector<double> expected = scaled(reduced(picture, reduction), target, width, height, reduction);
          for (size_t i = 0; i < got.size(); ++i) largest = std::max(largest, std::abs(got[i] - expected[i]));
        }
      }
    }
  }
  EXPECT_LT(largest, 1);
  EXPECT_GT(largest, 0.4) << "the pictures are rounded";
}

// A pixel of the target along one axis: the pixels [begin, begin + size) of `all` become `count`.
struct Place {
  int64_t pixel = 0, weight = 0;
};
Place place_of(int64_t i, int64_t count, int64_t begin, int64_t size, int64_t all) {
  const int64_t middle = (2048 * (2 * begin * count + (2 * i + 1) * size) + count) / (2 * count);
  const int64_t at = std::clamp<int64_t>(middle - 1024, 0, 2048 * (all - 1));
  return {at / 2048, at % 2048};
}

// However many pixels are computed at once, each is what the definition says.
TEST(PictureScaler, MixesLinesAndThenPixelsInWholeNumbers) {
  int64_t largest = 0;
  for (uint64_t round = 0; round < 300; ++round) {
    const auto number = [round](uint64_t which, uint64_t most) {
      return static_cast<int64_t>(1 + philox64(5, round, which) % most);
    };
    const Pixels picture = random_picture(number(0, 70), number(1, 30), round % 2 == 0 ? 3 : 1, round);
    const int64_t to_width = number(2, 50), to_height = number(3, 30);
    const bool crops = round % 4 < 2;
    int64_t width = picture.width, height = picture.height;
    if (crops && width * to_height > height * to_width) {
      width = std::clamp<int64_t>((height * to_width + to_height / 2) / to_height, 1, width);
    } else if (crops) {
      height = std::clamp<int64_t>((width * to_height + to_width / 2) / to_width, 1, height);
    }
    const Bytes got =
        scale(picture, target_of(picture.channels, to_height, to_width, crops ? Resize::crop : Resize::stretch));
    for (size_t i = 0; i < got.size(); ++i) {
      const auto at = static_cast<int64_t>(i);
      const Place x = place_of(at % to_width, to_width, (picture.width - width) / 2, width, picture.width);
      const Place y =
          place_of(at / to_width % to_height, to_height, (picture.height - height) / 2, height, picture.height);
      int64_t mixed[2], exact = 0;
      for (int64_t right : {0, 1}) {
        const auto value = [&](int64_t below) -> int64_t {
          return picture.at(std::min(x.pixel + right, picture.width - 1), std::min(y.pixel + below, picture.height - 1),
                            at / (to_width * to_height));
        };
        const int64_t sum = (2048 - y.weight) * value(0) + y.weight * value(1);
        mixed[right] = (sum + 8) / 16;
        exact += sum * (right == 0 ? 2048 - x.weight : x.weight);
      }
      ASSERT_EQ(got[i], ((2048 - x.weight) * mixed[0] + x.weight * mixed[1] + (1 << 17)) >> 18) << round << ": " << i;
      largest = std::max(largest, std::abs((int64_t{got[i]} << 22) - exact));
    }
  }
  EXPECT_GT(largest, 1 << 21) << "a half of a value";
  EXPECT_LE(largest, (1 << 21) + (1 << 14)) << "and 1/256";
}

// However many pixels are computed at once. The number was computed one by one.
TEST(PictureScaler, GivesTheSameBitsOnEveryProcessor) {
  std::string all;
  for (const int64_t width : {1, 2, 5, 6, 16, 33, 100}) {
    for (const int64_t channels : {1, 3}) {
      for (const int64_t to : {1, 3, 4, 17, 64}) {
        const Bytes got = scale(random_picture(width, 40, channels), target_of(channels, 23, to, Resize::stretch));
        all.append(got.begin(), got.end());
      }
    }
  }
  EXPECT_EQ(crc32_of(all), 0xd20cfdbdu);
}

// However a picture is stored, the same pixels are shown, to the last bit.
TEST(PictureScaler, TurnsPicturesAsExifSays) {
  using Size = std::pair<int64_t, int64_t>;
  const Pixels shown = random_picture(23, 14, 3);
  for (const Resize resize : {Resize::crop, Resize::stretch, Resize::pad}) {
    for (const auto& [height, width] : {Size{14, 23}, Size{9, 9}, Size{40, 31}, Size{14, 10}}) {
      const PictureTarget target = target_of(3, height, width, resize);
      const Bytes expected = scale(shown, target);
      for (int orientation = 2; orientation <= 8; ++orientation) {
        EXPECT_EQ(scale(stored_for(shown, orientation), target, orientation), expected)
            << orientation << " to " << height << " x " << width;
      }
    }
  }
}

TEST(PictureScaler, ReducesAPictureThatStaysLargerThanTheTarget) {
  const auto reduction = [](int64_t width, int64_t height, Resize resize = Resize::stretch, int orientation = 1) {
    return reduction_of(target_of(3, 10, 20, resize), {width, height, orientation});
  };
  EXPECT_EQ(reduction(20, 10), 1);
  EXPECT_EQ(reduction(40, 20), 1) << "the target is half as large, not less";
  EXPECT_EQ(reduction(41, 20), 1) << "the height is not less than half";
  EXPECT_EQ(reduction(41, 21), 2);
  EXPECT_EQ(reduction(80, 40), 2);
  EXPECT_EQ(reduction(81, 41), 4);
  EXPECT_EQ(reduction(161, 81), 8);
  EXPECT_EQ(reduction(5000, 5000), 8);
  EXPECT_EQ(reduction(21, 41, Resize::stretch, 6), 2) << "it is shown the other way";
  EXPECT_EQ(reduction(21, 41), 1);
  // The middle that covers the target decides, or the whole that fits into it.
  EXPECT_EQ(reduction(1000, 20, Resize::crop), 1);
  EXPECT_EQ(reduction(1000, 21, Resize::crop), 2);
  EXPECT_EQ(reduction(1000, 20, Resize::pad), 8);
}

TEST(PictureScaler, GoesOnWithAnotherPicture) {
  PictureScaler scaler;
  const Pixels small = random_picture(3, 2, 1), large = random_picture(50, 40, 3);
  const PictureTarget target = target_of(3, 20, 20, Resize::pad);
  Bytes first(1200), again(1200), between(4);
  const auto run = [&](const Pixels& picture, const PictureTarget& to, Bytes& out) {
    scaler.begin(to, {picture.width, picture.height}, 1, out.data());
    for (int64_t y = 0; y < picture.height; ++y) {
      std::copy_n(picture.values.data() + y * picture.width * picture.channels, picture.width * picture.channels,
                  scaler.line());
      scaler.add_line();
    }
  };
  run(large, target, first);
  run(small, target_of(1, 2, 2), between);
  run(large, target, again);
  EXPECT_EQ(first, again);
}

}  // namespace
}  // namespace millrace
