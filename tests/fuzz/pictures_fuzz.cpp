// Any bytes as a picture: they are refused with a reason, or become the same pixels whatever was decoded before.
//
// An input is kOptions bytes that choose the target, then the file. The checksums of a PNG file are set right, as what
// is behind them would not be reached else, unless the options want them as they are.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "millrace/input/pictures/exif.h"
#include "millrace/input/pictures/picture.h"

namespace millrace {
namespace {

constexpr size_t kOptions = 3;

struct Outcome {
  std::string wrong;
  std::vector<uint8_t> pixels;
};

Outcome decode(std::string_view file, const PictureTarget& target, PictureMemory& memory) {
  Outcome out;
  // All of it is written, so what it held before is not seen.
  static uint8_t before = 0;
  out.pixels.assign(static_cast<size_t>(target.channels * target.height * target.width), ++before);
  out.wrong = decode_picture(file, target, memory, out.pixels.data());
  return out;
}

uint32_t number_at(const std::vector<char>& bytes, size_t at) {
  uint32_t out = 0;
  for (size_t i = 0; i < 4; ++i) out = out << 8 | static_cast<uint8_t>(bytes[at + i]);
  return out;
}

uint32_t checksum(const std::vector<char>& bytes, size_t begin, size_t end) {
  uint32_t crc = UINT32_MAX;
  for (size_t i = begin; i < end; ++i) {
    crc ^= static_cast<uint8_t>(bytes[i]);
    for (int bit = 0; bit < 8; ++bit) crc = crc % 2 == 0 ? crc >> 1 : crc >> 1 ^ 0xedb88320;
  }
  return ~crc;
}

void set_checksums(std::vector<char>& png) {
  for (size_t at = 8; at + 12 <= png.size();) {
    const size_t end = at + 8 + number_at(png, at);
    if (end + 4 > png.size()) break;
    const uint32_t crc = checksum(png, at + 4, end);
    for (size_t i = 0; i < 4; ++i) png[end + i] = static_cast<char>(crc >> (24 - 8 * i));
    at = end + 4;
  }
}

void check(std::string_view file, const PictureTarget& target) {
  const int orientation = jpeg_orientation(file), exif = exif_orientation(file);
  if (orientation < 1 || orientation > 8 || exif < 1 || exif > 8) std::abort();
  static PictureMemory used;
  PictureMemory fresh;
  const Outcome first = decode(file, target, used), second = decode(file, target, fresh);
  if (first.wrong != second.wrong) {
    std::fprintf(stderr, "first: %s\nthen:  %s\n", first.wrong.c_str(), second.wrong.c_str());
    std::abort();
  }
  if (first.wrong.empty() && first.pixels != second.pixels) std::abort();
}

}  // namespace
}  // namespace millrace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace millrace;
  if (size < kOptions) return -1;
  PictureTarget target;
  target.channels = data[0] % 2 == 0 ? 1 : 3;
  target.resize = static_cast<Resize>(data[0] / 2 % 3);
  target.height = 1 + data[1] % 16;
  target.width = 1 + data[2] % 16;
  target.max_pixels = 1 << 14;
  // In memory of its own, so that reading beyond it is noticed.
  std::vector<char> file(data + kOptions, data + size);
  const bool png = file.size() > 4 && file[1] == 'P';
  if (png && data[0] < 128) set_checksums(file);
  check({file.data(), file.size()}, target);
  return 0;
}
