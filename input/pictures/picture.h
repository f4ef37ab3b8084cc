// Pictures: JPEG and PNG files, from their bytes to the pixels of a field. What a file is, its first bytes say, never
// its name.
//
// JPEG is decoded as libjpeg does by default (its slow, exact transform), so the bits do not depend on the processor.
// An alpha channel is laid over white. Grey is that of ITU-R BT.601: (19595 r + 38470 g + 7471 b + 32768) / 65536.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/core/export.h"
#include "millrace/input/pictures/picture_scaler.h"

namespace millrace {

// Memory that is kept from picture to picture. Used by one thread at a time.
struct PictureMemory {
  PictureScaler scaler;
  // Of PNG: a line as the library gives it, the same with the channels of the target, the sums of lines that are
  // reduced, and a picture that is interlaced.
  std::vector<uint8_t> stored, line, whole;
  std::vector<uint32_t> sums;
};

// Decodes the file and writes target.channels planes of target.height lines of target.width pixels to `to`. Returns
// what is wrong with the file; empty if nothing is. If something is, what `to` holds is undefined.
MILLRACE_EXPORT std::string decode_picture(std::string_view file, const PictureTarget& target, PictureMemory& memory,
                                           uint8_t* to);

// Upper bound of the bytes that decode_picture() keeps, in `memory` and inside of the libraries, for any file.
uint64_t picture_work_bound(const PictureTarget& target);

// The parts of decode_picture(). A build without a library has a function that says so.
std::string decode_jpeg(std::string_view file, const PictureTarget& target, PictureMemory& memory, uint8_t* to);
std::string decode_png(std::string_view file, const PictureTarget& target, PictureMemory& memory, uint8_t* to);

// A picture of more pixels is refused: a file of a few bytes may have so many that it would take minutes.
inline constexpr int64_t kMostPixels = int64_t{1} << 28;
std::string too_large(const StoredPicture& picture);

// What is wrong with a picture of this size, if it must be decoded as a whole because it is `why`: "progressive".
std::string too_many_pixels(const StoredPicture& picture, std::string_view why);

}  // namespace millrace
