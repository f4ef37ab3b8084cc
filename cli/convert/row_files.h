// RowFiles: rows into one file, or into several with a number of rows each: rows.csv, or rows-00000.csv,
// rows-00001.csv, and so on. There is always one file at least. Used by one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "millrace/cli/convert/row_writer.h"
#include "millrace/core/context.h"
#include "millrace/core/errors.h"
#include "millrace/input/rows/row_block.h"

namespace millrace::cli {

// Where rows go.
struct RowFilesPath {
  // The most files that keep their order when they are sorted by their names.
  static constexpr size_t kMostFiles = 100000;

  std::string path;
  std::optional<int64_t> rows = {};  // in each file; absent: one file has all

  // The file number `number`, from 0. REQUIRES: less than kMostFiles.
  std::string file(size_t number) const;
  // What a filename_queue calls them: the path, or a pattern.
  std::string pattern() const;
};

class RowFiles {
 public:
  // Begins the first file. Throws what RowWriter::begin() throws. REQUIRES: `writer` outlives it.
  RowFiles(RowWriter& writer, RowFilesPath to);

  // Throw what the writer throws, and UsageError if there are too many files.
  void write(RowSpan span, FunctionRef<Place(int64_t)> place);
  void finish();

  // The files that are there, and how many rows they have.
  const std::vector<std::string>& files() const { return files_; }
  uint64_t rows() const { return rows_; }

 private:
  void begin();
  void end();

  RowWriter& writer_;
  const RowFilesPath to_;
  bool begun_ = false;
  int64_t held_ = 0;  // rows in the file that is begun
  std::vector<std::string> files_;
  uint64_t rows_ = 0;
};

}  // namespace millrace::cli
