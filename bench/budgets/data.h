// Files of random rows, made once and then in the page cache.
#pragma once

#include <cstdint>
#include <string>

#include "bench/budgets/texts.h"

namespace millrace::bench {

inline constexpr int kRowsOfFile = 6000;  // 67 MB

// The path of a file of kRowsOfFile rows of float32 text in `folder`.
std::string data_file(const std::string& folder);

struct Files {
  std::string pattern;
  int64_t rows = 0;
};

// The same rows, over and over, as `rows` rows in `files` files. REQUIRES: files divides rows.
Files data_files(const std::string& folder, int64_t rows, int64_t files);

// The same, but written again even if they are there.
Files fresh_data_files(const std::string& folder, int64_t rows, int64_t files);

}  // namespace millrace::bench
