// BadRowsFile: writes a JSON line for every row that was left out because of its faults.
//
//   {"v":1,"file":"d/a.csv","line":4,"column":3,"field":"features","text":"abc","reason":"column 2 (features): .."}
//
// Used by one thread at a time. The file is replaced when the first row is written, unless it is resumed, and every
// line is flushed.
#pragma once

#include <fstream>
#include <string>

#include "millrace/input/rows/chunk.h"

namespace millrace {

class BadRowsFile {
 public:
  explicit BadRowsFile(std::string path) : path_(std::move(path)) {}

  // `field` and `text` are null if no single value is at fault. Throws IoError.
  void add(const BadRow& row);
  // Keeps the first `rows` lines of the file that an earlier run left, and goes on after them; if the file is gone, it
  // begins anew. Throws DataError if there are fewer lines; IoError. REQUIRES: add() was not called yet.
  void resume(uint64_t rows);

 private:
  void open(std::ios::openmode mode);

  std::string path_;
  std::ofstream out_;
};

}  // namespace millrace
