#include "millrace/input/pictures/exif.h"

#include <cstddef>
#include <cstdint>

namespace millrace {

namespace {

using namespace std::string_view_literals;

// `bytes` bytes at `at` as a number. REQUIRES: they are there.
uint32_t number_at(std::string_view text, size_t at, size_t bytes, bool big_endian = true) {
  uint32_t out = 0;
  for (size_t i = 0; i < bytes; ++i) {
    out = out << 8 | static_cast<unsigned char>(text[at + (big_endian ? i : bytes - 1 - i)]);
  }
  return out;
}

}  // namespace

int exif_orientation(std::string_view exif) {
  constexpr uint32_t kOrientation = 0x0112, kShort = 3;
  const bool big = exif.starts_with("MM\0*"sv);
  if (exif.size() < 8 || (!big && !exif.starts_with("II*\0"sv))) return 1;
  const size_t directory = number_at(exif, 4, 4, big);
  if (directory > exif.size() - 2) return 1;
  const uint32_t entries = number_at(exif, directory, 2, big);
  size_t at = directory + 2;
  for (uint32_t i = 0; i < entries && at + 12 <= exif.size(); ++i, at += 12) {
    if (number_at(exif, at, 2, big) != kOrientation) continue;
    const uint32_t value = number_at(exif, at + 8, 2, big);
    const bool known = number_at(exif, at + 2, 2, big) == kShort && value >= 1 && value <= 8;
    return known ? static_cast<int>(value) : 1;
  }
  return 1;
}

int jpeg_orientation(std::string_view file) {
  constexpr uint32_t kApp1 = 0xe1, kEnd = 0xd9, kScan = 0xda;
  constexpr std::string_view kExif = "Exif\0\0"sv;
  for (size_t at = 2; at + 4 <= file.size() && file[at] == '\xff';) {
    const uint32_t marker = number_at(file, at + 1, 1);
    if (marker == 0xff) {  // a byte that fills
      ++at;
      continue;
    }
    const size_t length = number_at(file, at + 2, 2);
    if (marker == kScan || marker == kEnd || length < 2) break;
    if (marker == kApp1) {
      const std::string_view data = file.substr(at + 4, length - 2);
      if (data.starts_with(kExif)) return exif_orientation(data.substr(kExif.size()));
    }
    at += 2 + length;
  }
  return 1;
}

PngFacts png_facts(std::string_view file) {
  PngFacts facts;
  for (size_t at = 8; at + 8 <= file.size();) {
    const size_t length = number_at(file, at, 4);
    const std::string_view name = file.substr(at + 4, 4);
    if (name == "IDAT") break;
    if (name == "acTL") facts.animated = true;
    if (name == "eXIf") facts.orientation = exif_orientation(file.substr(at + 8, length));
    at += 12 + length;
  }
  return facts;
}

}  // namespace millrace
