// What a picture's file says besides its pixels: how it is turned when it is shown, and whether it moves. The bytes may
// come from anywhere: all functions look at no byte outside of them, and take time in proportion to them.
#pragma once

#include <string_view>

namespace millrace {

// The orientation that EXIF data (a TIFF header and its first directory) tell: 1 to 8; 1 if they tell none.
int exif_orientation(std::string_view exif);

// The orientation of a JPEG file.
int jpeg_orientation(std::string_view file);

// What the chunks of a PNG file say that come before its pixels.
struct PngFacts {
  int orientation = 1;
  bool animated = false;
};
PngFacts png_facts(std::string_view file);

}  // namespace millrace
