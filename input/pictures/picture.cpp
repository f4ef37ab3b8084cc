#include "millrace/input/pictures/picture.h"

#include "millrace/core/text.h"
#include "millrace/input/files/foreign_file.h"

namespace millrace {

std::string decode_picture(std::string_view file, const PictureTarget& target, PictureMemory& memory, uint8_t* to) {
  if (file.empty()) return "the file is empty";
  if (file.starts_with("\xff\xd8\xff")) return decode_jpeg(file, target, memory, to);
  if (file.starts_with("\x89PNG")) return decode_png(file, target, memory, to);
  constexpr size_t kStart = 512;
  const auto foreign = foreign_file(file.substr(0, kStart));
  return cat("expected a JPEG or PNG picture, ", foreign ? cat("the file ", foreign->what) : "got another file");
}

uint64_t picture_work_bound(const PictureTarget& target) {
  // A progressive JPEG has a coefficient of two bytes for each of three channels, in squares of up to 32 pixels.
  constexpr uint64_t kBytesOfPixel = 6, kSquare = 32;
  // Both libraries and the scaler hold some lines: libjpeg most, which has lines of squares.
  constexpr uint64_t kBytesOfColumn = 256;
  const auto side = static_cast<uint64_t>(kMostSide);
  return kBytesOfPixel * (static_cast<uint64_t>(target.max_pixels) + 2 * kSquare * side) + kBytesOfColumn * side;
}

std::string too_large(const StoredPicture& picture) {
  return cat("the picture is ", picture.width, " x ", picture.height, " pixels, expected at most ", kMostPixels,
             " in all");
}

std::string too_many_pixels(const StoredPicture& picture, std::string_view why) {
  return cat("the picture is ", picture.width, " x ", picture.height, " pixels and ", why,
             ", so it must be decoded as a whole, which is more than max_pixels allows");
}

}  // namespace millrace
