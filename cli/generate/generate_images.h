// generate_images: a CSV data set of images: the digits of a seven-segment display, each drawn in another way.
//
// A row is the label, 0 to 9, then size * size whole numbers from 0 (black) to 255, line by line from the top left: the
// layout in which MNIST is passed around as CSV, without a header. Place, size, slant, thickness, brightness, corners
// and noise are drawn anew for every image.
// Row r of file f draws from block (f << 44) + (r << 12) on, of the stream "generate.images", so a row depends on seed,
// size, file and row alone, whatever else is written.
#pragma once

#include <cstdint>
#include <stop_token>
#include <string>

#include "millrace/cli/generate/generated_files.h"

namespace millrace {

inline constexpr int64_t kMostImageRows = int64_t{1} << 32;  // of each file
inline constexpr int64_t kLeastImageSize = 12;               // below it segments run into each other
inline constexpr int64_t kMostImageSize = 64;

struct GenerateImagesOptions {
  std::string folder;
  int64_t files = 20;
  int64_t rows = 100;  // of each file
  int64_t size = 28;   // pixels in height and width
  int64_t seed = 1;
  bool force = false;         // overwrite files that are there
  std::stop_token stop = {};  // ends the work after the row that is being written; its file is not kept
};

// Writes folder/examples-00.csv and so on, see write_generated_files().
GenerateResult generate_images(const GenerateImagesOptions& options);

}  // namespace millrace
