#include "millrace/input/pictures/exif.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/input/pictures/pictures.h"

namespace millrace {
namespace {

using namespace std::string_literals;
using testing_support::app1_of;
using testing_support::exif_of;

// In memory of its own, so that a sanitizer sees what is read beyond it.
int orientation_of(const std::string& exif) {
  const std::vector<char> bytes(exif.begin(), exif.end());
  return exif_orientation({bytes.data(), bytes.size()});
}
int of_jpeg(const std::string& file) {
  const std::vector<char> bytes(file.begin(), file.end());
  return jpeg_orientation({bytes.data(), bytes.size()});
}
PngFacts of_png(const std::string& file) {
  const std::vector<char> bytes(file.begin(), file.end());
  return png_facts({bytes.data(), bytes.size()});
}

TEST(Exif, TellsEachOrientationInBothByteOrders) {
  for (int orientation = 1; orientation <= 8; ++orientation) {
    EXPECT_EQ(orientation_of(exif_of(orientation)), orientation);
    EXPECT_EQ(orientation_of(exif_of(orientation, true)), orientation);
  }
}

TEST(Exif, StandsAmongOtherEntries) {
  // The directory is elsewhere, and the orientation is its second entry.
  const std::string other = "\x0f\x01\x02\0\x04\0\0\0abcd"s, entry = "\x12\x01\x03\0\x01\0\0\0\x06\0\0\0"s;
  EXPECT_EQ(orientation_of("II*\0\x0a\0\0\0--\x02\0"s + other + entry), 6);
  EXPECT_EQ(orientation_of("II*\0\x0a\0\0\0--\x01\0"s + other + entry), 1) << "there is one entry";
}

TEST(Exif, IsUprightWhereTheDataAreWrong) {
  for (const int value : {0, 9, 200}) EXPECT_EQ(orientation_of(exif_of(value)), 1) << value;
  const std::string good = exif_of(6);
  for (size_t bytes = 0; bytes < 20; ++bytes) EXPECT_EQ(orientation_of(good.substr(0, bytes)), 1) << bytes;
  for (const char* end : {"\xff\xff\xff\xff", "\xf0\xff\xff\xff", "\xff\xff\xff\x7f"}) {
    std::string far = good;
    far.replace(4, 4, end, 4);
    EXPECT_EQ(orientation_of(far), 1);
  }
  std::string many = good;
  many.replace(8, 2, "\xff\xff", 2);
  EXPECT_EQ(orientation_of(many), 6) << "more entries are announced than there are";
  std::string longer = good;
  longer[12] = '\x04';  // four bytes
  EXPECT_EQ(orientation_of(longer), 1);
  std::string neither = good;
  neither[0] = 'M';
  EXPECT_EQ(orientation_of(neither), 1);
}

std::string segment(char marker, const std::string& data) {
  const size_t length = data.size() + 2;
  return "\xff"s + marker + static_cast<char>(length / 256) + static_cast<char>(length % 256) + data;
}

TEST(Exif, IsFoundInAJpegFile) {
  const std::string start = "\xff\xd8", jfif = segment('\xe0', "JFIF\0\1\1"s), exif = segment('\xe1', app1_of(8));
  const std::string scan = segment('\xda', "abc");
  EXPECT_EQ(of_jpeg(start + exif + scan), 8);
  EXPECT_EQ(of_jpeg(start + jfif + segment('\xe1', "http://ns.adobe.com/xap/1.0/\0<x/>"s) + exif + scan), 8);
  EXPECT_EQ(of_jpeg(start + jfif + "\xff\xff\xff"s + exif + scan), 8) << "bytes that fill";
  EXPECT_EQ(of_jpeg(start + exif + segment('\xe1', app1_of(3)) + scan), 8) << "the first";
  EXPECT_EQ(of_jpeg(start + scan + exif), 1) << "after the pixels begin, it is no marker";
  EXPECT_EQ(of_jpeg(start + "\xff\xd9"s + exif), 1);
  EXPECT_EQ(of_jpeg(start + "x"s + exif), 1);
}

TEST(Exif, OfAJpegFileThatEndsAnywhereIsReadWithoutHarm) {
  const std::string file = "\xff\xd8"s + segment('\xe0', "JFIF") + segment('\xe1', app1_of(5));
  for (size_t bytes = 0; bytes < file.size(); ++bytes) {
    const int orientation = of_jpeg(file.substr(0, bytes));
    EXPECT_TRUE(orientation == 1 || orientation == 5) << bytes;
  }
  EXPECT_EQ(of_jpeg("\xff\xd8\xff\xe1\0\0"s), 1) << "a length below that of the length itself";
  EXPECT_EQ(of_jpeg("\xff\xd8\xff\xe1\xff\xff"s), 1);
  EXPECT_EQ(of_jpeg("\xff\xd8"s + std::string(100, '\xff')), 1);
}

std::string chunk(const std::string& name, const std::string& data) {
  return "\0\0"s + static_cast<char>(data.size() / 256) + static_cast<char>(data.size() % 256) + name + data + "crc!";
}

TEST(Exif, IsFoundInAPngFile) {
  const std::string start = "\x89PNG\r\n\x1a\n" + chunk("IHDR", "0123456789abc");
  EXPECT_EQ(of_png(start + chunk("eXIf", exif_of(4)) + chunk("IDAT", "x")).orientation, 4);
  EXPECT_EQ(of_png(start + chunk("IDAT", "x") + chunk("eXIf", exif_of(4))).orientation, 1);
  EXPECT_FALSE(of_png(start + chunk("IDAT", "x") + chunk("acTL", "01234567")).animated);
  EXPECT_TRUE(of_png(start + chunk("acTL", "01234567") + chunk("IDAT", "x")).animated);
}

TEST(Exif, OfAPngFileThatEndsAnywhereIsReadWithoutHarm) {
  const std::string file = "\x89PNG\r\n\x1a\n" + chunk("IHDR", "0123456789abc") + chunk("eXIf", exif_of(4));
  for (size_t bytes = 0; bytes < file.size(); ++bytes) {
    const int orientation = of_png(file.substr(0, bytes)).orientation;
    EXPECT_TRUE(orientation == 1 || orientation == 4) << bytes;
  }
  std::string huge = file;
  huge.replace(8, 4, "\xff\xff\xff\xff", 4);
  EXPECT_EQ(of_png(huge).orientation, 1);
}

}  // namespace
}  // namespace millrace
