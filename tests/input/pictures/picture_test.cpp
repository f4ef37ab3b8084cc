#include "millrace/input/pictures/picture.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "millrace/core/text.h"
#include "tests/input/pictures/pictures.h"
#include "tests/support/paths.h"

namespace millrace {
namespace {

using testing_support::decode;
using testing_support::target_of;

std::string fixture(const std::string& name) {
  std::ostringstream out;
  out << std::ifstream(test::source_dir() + "/tests/data/formats/pictures/" + name, std::ios::binary).rdbuf();
  return out.str();
}

TEST(Picture, RefusesWhatIsNeitherJpegNorPng) {
  const auto wrong = [](std::string_view file) { return decode(file, target_of(3, 4, 4)).wrong; };
  EXPECT_EQ(wrong(""), "the file is empty");
  EXPECT_EQ(wrong("GIF89a......"), "expected a JPEG or PNG picture, the file is a GIF image");
  EXPECT_EQ(wrong("1,2,3\n"), "expected a JPEG or PNG picture, got another file");
  EXPECT_EQ(wrong("\xff"), "expected a JPEG or PNG picture, got another file");
}

TEST(Picture, ItsBoundGrowsWithWhatIsDecodedAsAWhole) {
  PictureTarget target;
  const uint64_t usual = picture_work_bound(target);
  EXPECT_GE(usual, uint64_t{6} << 25);
  EXPECT_LT(usual, uint64_t{256} << 20);
  target.max_pixels *= 2;
  EXPECT_EQ(picture_work_bound(target), usual + (uint64_t{6} << 25));
}

#if defined(MILLRACE_HAS_JPEG) && defined(MILLRACE_HAS_PNG)

// tests/data/formats/pictures/pixels.txt has the pixels that Pillow reads.
TEST(Picture, GivesThePixelsThatPillowReads) {
  std::istringstream lines(fixture("pixels.txt"));
  std::string name, hex;
  int64_t width = 0, height = 0, channels = 0;
  int files = 0;
  for (; lines >> name >> width >> height >> channels >> hex; ++files) {
    const auto got = decode(fixture(name), target_of(channels, height, width));
    EXPECT_EQ(got.wrong, "") << name;
    // Both round once where pixels lie over white, but not alike.
    const int most = name.find("alpha") != std::string::npos ? 1 : 0;
    int largest = 0;
    for (int64_t pixel = 0; pixel < width * height; ++pixel) {
      for (int64_t channel = 0; channel < channels; ++channel) {
        const auto at = static_cast<size_t>(2 * (pixel * channels + channel));
        const int expected = static_cast<int>(std::strtol(hex.substr(at, 2).c_str(), nullptr, 16));
        const int value = got.planes.at(static_cast<size_t>(channel * width * height + pixel));
        largest = std::max(largest, std::abs(value - expected));
      }
    }
    EXPECT_LE(largest, most) << name << ", channels " << channels;
  }
  EXPECT_EQ(files, 26);
}

TEST(Picture, RefusesTheOthersOfPillow) {
  const std::map<std::string, std::string> expected = {
      {"animated.png", "the picture is animated, expected one picture"},
      {"cmyk.jpg", "the picture is CMYK, expected RGB or grey"},
      {"cut.jpg", "cannot decode the JPEG picture: "},
      {"cut.png", "cannot decode the PNG picture: "},
      {"deep.png", "the picture has 16 bits for each channel, expected 8"},
      {"empty.jpg", "the file is empty"},
      {"is-gif.png", "expected a JPEG or PNG picture, the file is a GIF image"},
      {"no-end.jpg", "cannot decode the JPEG picture: Premature end of JPEG file"},
      {"no-end.png", "cannot decode the PNG picture: the file ends too early"}};
  for (const auto& [name, message] : expected) {
    const std::string wrong = decode(fixture(name), target_of(3, 9, 13)).wrong;
    EXPECT_TRUE(wrong.starts_with(message)) << name << ": " << wrong;
  }
}

// One memory for all files, in both orders: nothing of one picture is in the next, whatever became of it.
TEST(Picture, LeavesNothingToTheNext) {
  std::vector<std::string> names;
  std::istringstream lines(fixture("pixels.txt"));
  for (std::string name, rest; lines >> name && std::getline(lines, rest);) names.push_back(name);
  for (const char* name : {"cut.jpg", "cut.png", "cmyk.jpg", "empty.jpg"}) names.emplace_back(name);
  const PictureTarget target = target_of(3, 5, 6, Resize::pad);
  std::vector<testing_support::DecodedPicture> alone;
  for (const std::string& name : names) alone.push_back(decode(fixture(name), target));
  PictureMemory memory;
  for (size_t i = 0; i < 2 * names.size(); ++i) {
    const size_t which = i < names.size() ? i : 2 * names.size() - 1 - i;
    EXPECT_EQ(decode(fixture(names[which]), target, memory), alone[which]) << names[which];
  }
}

#endif

}  // namespace
}  // namespace millrace
