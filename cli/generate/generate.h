// generate: the CSV data set of the seeds: normal numbers, and whether their sum is positive.
//
// A row is `features` numbers of mean 0 and deviation 1 in the shortest form of float32, then the label 0.0 or 1.0.
// Row r (counted over all files) draws blocks r * ceil(features / 2) + k of the stream "generate.sum", two numbers
// each, so the files depend on the options alone.
#pragma once

#include <cstdint>
#include <stop_token>
#include <string>

#include "millrace/cli/generate/generated_files.h"

namespace millrace {

inline constexpr int64_t kMostGeneratedFeatures = int64_t{1} << 24;

struct GenerateOptions {
  std::string folder;
  int64_t files = 20;
  int64_t rows = 100;  // of each file
  int64_t features = 1024;
  int64_t seed = 1;
  bool force = false;         // overwrite files that are there
  std::stop_token stop = {};  // ends the work after the row that is being written; its file is not kept
};

// Writes folder/examples-00.csv and so on, see write_generated_files().
GenerateResult generate_sum(const GenerateOptions& options);

}  // namespace millrace
