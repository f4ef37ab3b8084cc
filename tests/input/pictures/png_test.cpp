#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "millrace/core/crc32.h"
#include "tests/input/pictures/pictures.h"

namespace millrace {
namespace {

using testing_support::decode;
using testing_support::Pixels;
using testing_support::target_of;

#ifdef MILLRACE_HAS_PNG

using testing_support::exif_of;
using testing_support::planes;
using testing_support::png_of;
using testing_support::PngOptions;
using testing_support::random_picture;
using testing_support::reduced;
using testing_support::scaled;
using testing_support::smooth_picture;
using testing_support::stored_for;

// Another number of channels, by the rule of ITU-R BT.601, over white.
Pixels with_channels(const Pixels& from, int64_t channels) {
  Pixels out{from.width, from.height, channels, {}};
  const bool grey = from.channels < 3, has_alpha = from.channels % 2 == 0;
  for (int64_t y = 0; y < from.height; ++y) {
    for (int64_t x = 0; x < from.width; ++x) {
      int64_t colours[3];
      for (int64_t i = 0; i < 3; ++i) {
        const double alpha = has_alpha ? from.at(x, y, from.channels - 1) / 255.0 : 1;
        colours[i] = std::lround(from.at(x, y, grey ? 0 : i) * alpha + 255 * (1 - alpha));
      }
      const int64_t light = (19595 * colours[0] + 38470 * colours[1] + 7471 * colours[2] + 32768) >> 16;
      for (int64_t i = 0; i < channels; ++i) {
        out.values.push_back(static_cast<uint8_t>(channels == 1 ? light : colours[i]));
      }
    }
  }
  return out;
}

TEST(Png, GivesThePixelsThatWereWritten) {
  for (const int64_t channels : {1, 2, 3, 4}) {
    const Pixels picture = random_picture(19, 13, channels);
    for (const bool interlaced : {false, true}) {
      const std::string file = png_of(picture, {.interlaced = interlaced});
      for (const int64_t wanted : {1, 3}) {
        EXPECT_EQ(decode(file, target_of(wanted, 13, 19)).planes, planes(with_channels(picture, wanted)))
            << channels << " as " << wanted;
      }
    }
  }
}

TEST(Png, LiesOverWhite) {
  const Pixels picture = {4, 1, 4, {10, 20, 30, 255, 10, 20, 30, 0, 0, 100, 200, 128, 255, 255, 255, 77}};
  EXPECT_EQ(decode(png_of(picture), target_of(3, 1, 4)).planes,
            (std::vector<uint8_t>{10, 255, 127, 255, 20, 255, 177, 255, 30, 255, 227, 255}));
}

TEST(Png, ExpandsFewBitsAndPalettes) {
  EXPECT_EQ(decode(png_of({4, 1, 1, {0, 1, 1, 0}}, {.bits = 1}), target_of(1, 1, 4)).planes,
            (std::vector<uint8_t>{0, 255, 255, 0}));
  EXPECT_EQ(decode(png_of({4, 1, 1, {0, 1, 2, 3}}, {.bits = 2}), target_of(1, 1, 4)).planes,
            (std::vector<uint8_t>{0, 85, 170, 255}));
  const PngOptions palette = {.bits = 2, .palette = {1, 2, 3, 4, 5, 6, 7, 8, 9}, .transparent = {0}};
  EXPECT_EQ(decode(png_of({3, 1, 1, {2, 1, 0}}, palette), target_of(3, 1, 3)).planes,
            (std::vector<uint8_t>{7, 4, 255, 8, 5, 255, 9, 6, 255}));
}

// What is much larger than the target is reduced first, each pixel the mean of a square, as in JPEG.
TEST(Png, ScalesTheMeansOfSquares) {
  const Pixels picture = random_picture(203, 151, 3);
  for (const bool interlaced : {false, true}) {
    const std::string file = png_of(picture, {.interlaced = interlaced});
    for (const Resize resize : {Resize::crop, Resize::stretch, Resize::pad}) {
      const auto largest = [&](int64_t height, int64_t width, int64_t reduction) {
        const PictureTarget target = target_of(3, height, width, resize);
        const auto got = decode(file, target);
        const std::vector<double> expected = scaled(reduced(picture, reduction), target, 203, 151, reduction);
        double most = 0;
        for (size_t i = 0; i < got.planes.size(); ++i) most = std::max(most, std::abs(got.planes[i] - expected[i]));
        return most;
      };
      EXPECT_LT(largest(160, 210, 1), 1);
      EXPECT_LT(largest(80, 110, 1), 1);
      EXPECT_LT(largest(60, 80, 2), 1);
      EXPECT_LT(largest(30, 40, 4), 1);
      EXPECT_LT(largest(9, 11, 8), 1);
    }
  }
}

TEST(Png, IsTurnedAsExifSays) {
  const Pixels shown = random_picture(9, 6, 3);
  for (int orientation = 1; orientation <= 8; ++orientation) {
    const std::string file = png_of(stored_for(shown, orientation), {.exif = exif_of(orientation, true)});
    EXPECT_EQ(decode(file, target_of(3, 6, 9)).planes, planes(shown)) << orientation;
  }
}

TEST(Png, ADamagedPictureIsBadWhereverItEnds) {
  for (const bool interlaced : {false, true}) {
    const std::string file = png_of(random_picture(20, 20, 3), {.interlaced = interlaced});
    const PictureTarget target = target_of(3, 5, 20);
    ASSERT_EQ(decode(file, target).wrong, "");
    for (size_t bytes = 4; bytes < file.size(); ++bytes) {
      const std::string wrong = decode(file.substr(0, bytes), target).wrong;
      EXPECT_TRUE(wrong.starts_with("cannot decode the PNG picture: ")) << bytes << ": " << wrong;
    }
    EXPECT_EQ(decode(file.substr(0, file.size() - 12), target).wrong,
              "cannot decode the PNG picture: the file ends too early");
  }
}

// Every chunk that holds pixels has a checksum.
TEST(Png, NoticesEveryByteThatIsWrong) {
  const std::string good = png_of(smooth_picture(16, 16, 3));
  for (size_t i = 4; i < good.size(); ++i) {
    std::string file = good;
    file[i] = static_cast<char>(file[i] ^ 0x10);
    EXPECT_NE(decode(file, target_of(3, 16, 16)).wrong, "") << i;
  }
}

TEST(Png, NoticesAWrongChecksumOfWhatIsTransparent) {
  std::string file = png_of({1, 1, 1, {0}}, {.palette = {9, 9, 9}, .transparent = {7}});
  ASSERT_EQ(decode(file, target_of(1, 1, 1)).wrong, "");
  file[file.find("tRNS") + 5] ^= 1;
  EXPECT_EQ(decode(file, target_of(1, 1, 1)).wrong, "cannot decode the PNG picture: tRNS: CRC error");
}

TEST(Png, RefusesPicturesThatWouldTakeMinutes) {
  std::string file = png_of({1, 1, 1, {0}});
  const auto with_size = [&](uint32_t width, uint32_t height) {
    for (size_t i = 0; i < 4; ++i) {
      file[16 + i] = static_cast<char>(width >> (24 - 8 * i));
      file[20 + i] = static_cast<char>(height >> (24 - 8 * i));
    }
    const uint32_t crc = crc32_of(std::string_view(file).substr(12, 17));
    for (size_t i = 0; i < 4; ++i) file[29 + i] = static_cast<char>(crc >> (24 - 8 * i));
    return decode(file, target_of(1, 1, 1)).wrong;
  };
  EXPECT_EQ(with_size(16384, 16385), "the picture is 16384 x 16385 pixels, expected at most 268435456 in all");
  EXPECT_EQ(with_size(1, 1), "");
}

TEST(Png, RefusesSixteenBitsAndAnimationsByName) {
  EXPECT_EQ(decode(png_of(random_picture(4, 4, 3), {.bits = 16}), target_of(3, 4, 4)).wrong,
            "the picture has 16 bits for each channel, expected 8");
  std::string file = png_of(random_picture(4, 4, 3));
  file.insert(8 + 25, std::string("\0\0\0\x08"
                                  "acTL\0\0\0\2\0\0\0\0crc!",
                                  20));
  EXPECT_EQ(decode(file, target_of(3, 4, 4)).wrong, "the picture is animated, expected one picture");
}

TEST(Png, BoundsThePixelsOfAPictureThatIsDecodedAsAWhole) {
  PictureTarget target = target_of(3, 8, 8);
  target.max_pixels = 40 * 30 - 1;
  const Pixels picture = smooth_picture(40, 30, 3);
  EXPECT_EQ(decode(png_of(picture), target).wrong, "");
  EXPECT_EQ(decode(png_of(picture, {.interlaced = true}), target).wrong,
            "the picture is 40 x 30 pixels and interlaced, so it must be decoded as a whole, which is more than "
            "max_pixels allows");
  target.max_pixels = 40 * 30;
  EXPECT_EQ(decode(png_of(picture, {.interlaced = true}), target).planes, decode(png_of(picture), target).planes);
}

TEST(Png, RefusesSidesThatAreTooLong) {
  EXPECT_EQ(decode(png_of(smooth_picture(65535, 1, 1)), target_of(1, 1, 8)).wrong, "");
  EXPECT_EQ(decode(png_of(smooth_picture(65536, 1, 1)), target_of(1, 1, 8)).wrong,
            "the picture is 65536 x 1 pixels, expected at most 65535 along each side");
  EXPECT_EQ(decode(png_of(smooth_picture(1, 65536, 1)), target_of(1, 8, 1)).wrong,
            "the picture is 1 x 65536 pixels, expected at most 65535 along each side");
}

#else

TEST(Png, IsRefusedByName) {
  EXPECT_EQ(decode("\x89PNG\r\n\x1a\n", target_of(3, 8, 8)).wrong,
            "PNG is not in this build: install libpng-dev and build again");
}

#endif

}  // namespace
}  // namespace millrace
