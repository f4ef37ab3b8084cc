#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "tests/input/pictures/pictures.h"

namespace millrace {
namespace {

using testing_support::decode;
using testing_support::Pixels;
using testing_support::target_of;

#ifdef MILLRACE_HAS_JPEG

using testing_support::app1_of;
using testing_support::jpeg_of;
using testing_support::JpegOptions;
using testing_support::plain_jpeg;
using testing_support::planes;
using testing_support::random_picture;
using testing_support::scaled;
using testing_support::smooth_picture;
using testing_support::stored_for;

// The largest difference from the definition in doubles, of what libjpeg gives at 1 / `reduction`.
double largest_difference(const std::string& file, const PictureTarget& target, int64_t width, int64_t height,
                          int reduction) {
  const auto got = decode(file, target);
  EXPECT_EQ(got.wrong, "");
  const std::vector<double> expected =
      scaled(plain_jpeg(file, target.channels, reduction), target, width, height, reduction);
  double largest = 0;
  for (size_t i = 0; i < got.planes.size(); ++i) largest = std::max(largest, std::abs(got.planes[i] - expected[i]));
  return largest;
}

TEST(Jpeg, GivesThePixelsOfLibjpeg) {
  for (const bool progressive : {false, true}) {
    for (const bool subsampled : {false, true}) {
      const std::string file =
          jpeg_of(smooth_picture(45, 33, 3), {.progressive = progressive, .subsampled = subsampled});
      for (const int64_t channels : {1, 3}) {
        EXPECT_EQ(decode(file, target_of(channels, 33, 45)).planes, planes(plain_jpeg(file, channels)));
      }
    }
  }
  const std::string grey = jpeg_of(smooth_picture(20, 30, 1));
  for (const int64_t channels : {1, 3}) {
    EXPECT_EQ(decode(grey, target_of(channels, 30, 20)).planes, planes(plain_jpeg(grey, channels)));
  }
}

TEST(Jpeg, ScalesWhatLibjpegGivesAtTheNearestLargerSize) {
  const std::string file = jpeg_of(smooth_picture(200, 150, 3), {.subsampled = true});
  for (const Resize resize : {Resize::crop, Resize::stretch, Resize::pad}) {
    EXPECT_LT(largest_difference(file, target_of(3, 90, 120, resize), 200, 150, 1), 1);
    EXPECT_LT(largest_difference(file, target_of(1, 160, 220, resize), 200, 150, 1), 1);
    EXPECT_LT(largest_difference(file, target_of(3, 60, 80, resize), 200, 150, 2), 1);
    EXPECT_LT(largest_difference(file, target_of(3, 30, 40, resize), 200, 150, 4), 1);
    EXPECT_LT(largest_difference(file, target_of(1, 7, 9, resize), 200, 150, 8), 1);
  }
  EXPECT_GT(largest_difference(file, target_of(3, 30, 40), 200, 150, 2), 1) << "not at half the size";
}

// Columns that are cut off are not decoded, which changes no pixel of the others.
TEST(Jpeg, GivesTheSameMiddleAsTheWholePicture) {
  for (const bool subsampled : {false, true}) {
    for (const int64_t width : {41, 70, 97}) {
      const std::string file = jpeg_of(random_picture(width, 9, 3), {.subsampled = subsampled});
      for (const int64_t channels : {1, 3}) {
        const Pixels all = plain_jpeg(file, channels);
        for (int64_t shown = 1; shown <= width; ++shown) {
          Pixels middle{shown, all.height, channels, {}};
          for (int64_t i = 0; i < shown * all.height; ++i) {
            const int64_t x = (width - shown) / 2 + i % shown, y = i / shown;
            for (int64_t channel = 0; channel < channels; ++channel) middle.values.push_back(all.at(x, y, channel));
          }
          EXPECT_EQ(decode(file, target_of(channels, 9, shown)).planes, planes(middle)) << shown << " of " << width;
        }
      }
    }
  }
}

TEST(Jpeg, IsTurnedAsExifSays) {
  const Pixels shown = smooth_picture(24, 16, 3);
  for (int orientation = 1; orientation <= 8; ++orientation) {
    const std::string file = jpeg_of(stored_for(shown, orientation), {.quality = 100, .app1 = app1_of(orientation)});
    const Pixels stored = plain_jpeg(file, 3);
    // Back to how it is shown: orientations 6 and 8 undo each other, every other one undoes itself.
    const int back = orientation == 6 ? 8 : orientation == 8 ? 6 : orientation;
    EXPECT_EQ(decode(file, target_of(3, 16, 24)).planes, planes(stored_for(stored, back))) << orientation;
  }
}

TEST(Jpeg, ADamagedPictureIsBadWhereverItEnds) {
  for (const bool progressive : {false, true}) {
    const std::string file = jpeg_of(smooth_picture(40, 40, 3), {.progressive = progressive});
    const PictureTarget target = target_of(3, 10, 40);
    ASSERT_EQ(decode(file, target).wrong, "");
    for (size_t bytes = 3; bytes < file.size(); ++bytes) {
      const std::string wrong = decode(file.substr(0, bytes), target).wrong;
      EXPECT_TRUE(wrong.starts_with("cannot decode the JPEG picture: ")) << bytes << ": " << wrong;
    }
    EXPECT_EQ(decode(file.substr(0, file.size() - 2), target).wrong,
              "cannot decode the JPEG picture: Premature end of JPEG file");
  }
}

TEST(Jpeg, AByteThatIsWrongIsNoticedOrChangesPixels) {
  const std::string good = jpeg_of(random_picture(32, 32, 3));
  const auto expected = decode(good, target_of(3, 32, 32));
  size_t noticed = 0;
  for (size_t i = good.size() / 2; i + 2 < good.size(); i += 7) {
    std::string file = good;
    file[i] = static_cast<char>(file[i] ^ 0x55);
    noticed += decode(file, target_of(3, 32, 32)) == expected ? 0 : 1;
  }
  EXPECT_GT(noticed, (good.size() / 2 - 2) / 7 * 9 / 10);
}

TEST(Jpeg, RefusesArithmeticCoding) {
  EXPECT_EQ(decode(jpeg_of(smooth_picture(8, 8, 3), {.arithmetic = true}), target_of(3, 8, 8)).wrong,
            "the picture is coded arithmetically, expected the usual codes of Huffman");
}

// Newer versions of libjpeg read lossless JPEG, but cannot reduce it.
TEST(Jpeg, RefusesWhatCannotBeReduced) {
  std::string file = jpeg_of(smooth_picture(40, 40, 3));
  const size_t frame = file.find("\xff\xc0");
  ASSERT_NE(frame, file.npos);
  file[frame + 1] = '\xc3';
  EXPECT_TRUE(decode(file, target_of(3, 8, 8)).wrong.starts_with("cannot decode the JPEG picture: "));
}

TEST(Jpeg, RefusesCmyk) {
  EXPECT_EQ(decode(jpeg_of(random_picture(8, 8, 4)), target_of(3, 8, 8)).wrong,
            "the picture is CMYK, expected RGB or grey");
}

// What is decoded as a whole takes memory for all of its pixels; what comes line by line does not.
TEST(Jpeg, BoundsThePixelsOfAPictureThatIsDecodedAsAWhole) {
  PictureTarget target = target_of(3, 8, 8);
  target.max_pixels = 40 * 30 - 1;
  const Pixels picture = smooth_picture(40, 30, 3);
  EXPECT_EQ(decode(jpeg_of(picture), target).wrong, "");
  EXPECT_EQ(decode(jpeg_of(picture, {.progressive = true}), target).wrong,
            "the picture is 40 x 30 pixels and progressive, so it must be decoded as a whole, which is more than "
            "max_pixels allows");
  EXPECT_EQ(decode(jpeg_of(picture, {.in_scans = true}), target).wrong,
            "the picture is 40 x 30 pixels and has several scans, so it must be decoded as a whole, which is more than "
            "max_pixels allows");
  target.max_pixels = 40 * 30;
  EXPECT_EQ(decode(jpeg_of(picture, {.progressive = true}), target).wrong, "");
  EXPECT_EQ(decode(jpeg_of(picture, {.in_scans = true}), target).planes, decode(jpeg_of(picture), target).planes);
}

// A head that claims a huge picture costs no memory.
TEST(Jpeg, BelievesNoHead) {
  std::string file = jpeg_of(smooth_picture(16, 16, 3), {.progressive = true});
  const size_t head = file.find("\xff\xc2");
  ASSERT_NE(head, std::string::npos);
  file.replace(head + 5, 4, std::string("\x20\0\x20\0", 4));
  EXPECT_TRUE(decode(file, target_of(3, 8, 8)).wrong.starts_with("the picture is 8192 x 8192 pixels and progressive"));
  file.replace(head + 5, 4, "\xff\xdc\xff\xdc", 4);
  EXPECT_EQ(decode(file, target_of(3, 8, 8)).wrong,
            "the picture is 65500 x 65500 pixels, expected at most 268435456 in all");
  std::string lines = jpeg_of(smooth_picture(16, 16, 3));
  lines.replace(lines.find("\xff\xc0") + 5, 2, "\xff\xdc", 2);
  EXPECT_TRUE(decode(lines, target_of(3, 8, 8)).wrong.starts_with("cannot decode the JPEG picture: "));
}

// Each scan goes over the whole picture, so a small file could take very long.
TEST(Jpeg, RefusesMoreScansThanAnyoneMakes) {
  const std::string file = jpeg_of(smooth_picture(16, 16, 3), {.in_scans = true});
  // The last scan again and again.
  const size_t scan = file.rfind("\xff\xda"), end = file.size() - 2;
  ASSERT_NE(scan, std::string::npos);
  const auto repeated = [&](int times) {
    std::string out = file.substr(0, end);
    for (int i = 0; i < times; ++i) out += file.substr(scan, end - scan);
    return out + file.substr(end);
  };
  const PictureTarget target = target_of(3, 16, 16);
  EXPECT_EQ(decode(repeated(90), target), decode(file, target));
  EXPECT_EQ(decode(repeated(110), target).wrong,
            "cannot decode the JPEG picture: it has more scans than any encoder makes");
}

// The tables of one file are not used for the next, whatever came before on this thread.
TEST(Jpeg, EveryFileStandsByItself) {
  const std::string file = jpeg_of(smooth_picture(16, 16, 3));
  std::string bare = file;
  for (size_t at = bare.find("\xff\xdb"); at != std::string::npos; at = bare.find("\xff\xdb")) {
    bare.erase(at, 2 + static_cast<size_t>(static_cast<unsigned char>(bare[at + 3])));
  }
  PictureMemory memory;
  EXPECT_EQ(decode(file, target_of(3, 16, 16), memory).wrong, "");
  const std::string wrong = decode(bare, target_of(3, 16, 16), memory).wrong;
  EXPECT_TRUE(wrong.starts_with("cannot decode the JPEG picture: Quantization table")) << wrong;
}

#else

TEST(Jpeg, IsRefusedByName) {
  EXPECT_EQ(decode("\xff\xd8\xff\xe0", target_of(3, 8, 8)).wrong,
            "JPEG is not in this build: install libjpeg62-turbo-dev and build again");
}

#endif

}  // namespace
}  // namespace millrace
