// The data sets of `trainer generate`: numbered CSV files in a folder. A file appears whole or not at all.
//
// REQUIRES for all functions: a folder, and numbers within the limits that the command checks.
#pragma once

#include <cstdint>
#include <stop_token>
#include <string>
#include <vector>

#include "millrace/cli/process/output.h"
#include "millrace/core/context.h"

namespace millrace {

inline constexpr int64_t kMostGeneratedFiles = 1'000'000;
inline constexpr int64_t kMostGeneratedRows = int64_t{1} << 40;  // of each file
inline constexpr int64_t kMostGeneratedFeatures = int64_t{1} << 24;
inline constexpr int64_t kMostImageRows = int64_t{1} << 32;  // of each file
inline constexpr int64_t kLeastImageSize = 12;               // in smaller images, segments would touch each other
inline constexpr int64_t kMostImageSize = 64;

struct GenerateOptions {
  std::string folder;
  int64_t files = 20;
  int64_t rows = 100;  // of each file
  int64_t seed = 1;
  bool force = false;         // overwrite files that exist
  std::stop_token stop = {};  // ends the work after the row that is being written; its file is not kept
};

struct GenerateResult {
  std::vector<std::string> paths;  // of the files that were finished
  uint64_t bytes = 0;
  std::vector<int64_t> rows_of_label;
  bool stopped = false;
};

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

// Shared by both:

// Writes a row with its line feed, and returns its label. Files and rows count from 0.
using WriteRow = FunctionRef<int64_t(cli::Output& out, int64_t file, int64_t row)>;

// Writes folder/examples-00.csv and so on, with as many digits as the last number needs, at least two; makes the folder
// if it is absent. Rows have a label from 0 to labels - 1. Throws IoError if a file exists (without `force`) or writing
// fails.
GenerateResult write_generated_files(const GenerateOptions& options, size_t labels, WriteRow write_row);

}  // namespace millrace
