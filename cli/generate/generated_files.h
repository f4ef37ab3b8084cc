// What all generators of data sets share: numbered CSV files in a folder. A file appears whole or not at all.
//
//   GenerateResult result = write_generated_files(
//       {.folder = "data", .files = 2, .rows = 3}, 2, [](GeneratedText& text, int64_t file, int64_t row) {
//         text.add("0.5,1\n");
//         return int64_t{1};
//       });
#pragma once

#include <cstdint>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/core/threads/executor.h"
#include "millrace/trainer/files/atomic_file.h"

namespace millrace {

inline constexpr int64_t kMostGeneratedFiles = 1'000'000;
inline constexpr int64_t kMostGeneratedRows = int64_t{1} << 40;  // of each file

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

// The text of a file, gathered so that few system calls write it.
class GeneratedText {
 public:
  explicit GeneratedText(AtomicFile& file) : file_(file) {}
  void add(std::string_view text) {
    buffer_ += text;
    if (buffer_.size() >= kBufferBytes) flush();
  }
  void flush() {
    file_.write(buffer_);
    bytes_ += buffer_.size();
    buffer_.clear();
  }
  uint64_t bytes() const { return bytes_; }  // written so far

 private:
  static constexpr size_t kBufferBytes = size_t{1} << 18;
  AtomicFile& file_;
  std::string buffer_;
  uint64_t bytes_ = 0;
};

// Adds a row with its line feed, and returns its label. Files and rows count from 0.
using WriteRow = FunctionRef<int64_t(GeneratedText& text, int64_t file, int64_t row)>;

// Writes folder/examples-00.csv and so on, with as many digits as the last number needs, at least two; makes the folder
// if it is absent. Rows have a label from 0 to labels - 1. Throws ConfigError for values out of range, IoError if a
// file exists (without `force`) or writing fails.
GenerateResult write_generated_files(const GenerateOptions& options, size_t labels, WriteRow write_row);

// Throws ConfigError "name: expected from least to most, got value".
void check_generated(std::string_view name, int64_t value, int64_t least, int64_t most);

}  // namespace millrace
