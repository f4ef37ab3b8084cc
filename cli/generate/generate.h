// The data sets of `trainer generate`. Each function writes folder/examples-00.csv and so on, see
// write_generated_files().
#pragma once

#include <cstdint>

#include "millrace/cli/generate/generated_files.h"

namespace millrace {

inline constexpr int64_t kMostGeneratedFeatures = int64_t{1} << 24;
inline constexpr int64_t kMostImageRows = int64_t{1} << 32;  // of each file
inline constexpr int64_t kLeastImageSize = 12;               // in smaller images segments run into each other
inline constexpr int64_t kMostImageSize = 64;

// Normal numbers, and whether their sum is positive. A row is `features` numbers of mean 0 and deviation 1 in the
// shortest form of float32, then the label 0.0 or 1.0.
// Row r (counted over all files) draws blocks r * ceil(features / 2) + k of the stream "generate.sum", two numbers
// from each, so the files depend only on the options.
GenerateResult generate_sum(const GenerateOptions& options, int64_t features = 1024);

// Images of the digits of a seven-segment display. A row is the label, 0 to 9, then size * size whole numbers from 0
// (black) to 255, line by line from the top left, without a header: the layout in which MNIST is passed around as CSV.
// Place, size, slant, thickness, brightness, corners and noise are drawn anew for every image.
// Row r of file f draws blocks of the stream "generate.images" from (f << 44) + (r << 12) on, so a row depends only on
// seed, size, file and row, whatever else is written.
GenerateResult generate_images(const GenerateOptions& options, int64_t size = 28);

}  // namespace millrace
