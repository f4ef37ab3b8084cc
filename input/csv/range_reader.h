// RangeReader: turns a byte range of a file into text, for csv_reader.
//
// A file's first range brings its preamble (skipped lines, header) with it, however long; the text starts behind it.
// Thread-safe once it has learned.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "millrace/input/csv/csv_dialect.h"
#include "millrace/input/csv/preamble.h"
#include "millrace/input/files/open_files.h"

namespace millrace {

class RangeReader {
 public:
  // `chunk_bytes`: the most of a file that one unit holds. `files` outlives this.
  RangeReader(OpenFiles& files, bool header, CsvDialect dialect, uint64_t chunk_bytes);

  // Throws IoError; DataError for a header unlike the first file's.
  void read(Chunk& chunk) const;

  // Looks into the files in turn for the header and the number of columns. Not thread-safe. Throws IoError; DataError
  // for a header that is none. Learns, too, how much memory a range takes.
  void learn(const std::vector<std::shared_ptr<const FileEntry>>& files);
  const CsvDialect& dialect() const { return dialect_; }
  // Of any file, learned: the most bytes of a range, and of the memory for its text, records that reach beyond it
  // included.
  uint64_t range_bytes() const { return range_bytes_; }
  uint64_t text_bound() const;

  // Opens the file and checks its header.
  void check(const std::shared_ptr<const FileEntry>& file) const;

 private:
  bool learn_from(const std::shared_ptr<const FileEntry>& file);
  bool learn_columns(FileText& text);
  void check_header(const ScannedRecord& header, const Preamble& preamble, const FileEntry& file) const;

  const bool header_;
  CsvDialect dialect_;
  const uint64_t chunk_bytes_;
  uint64_t largest_file_ = 0;
  uint64_t range_bytes_ = 0;                      // of the largest range of any file
  std::shared_ptr<const FileEntry> header_file_;  // whose header is dialect_.header
  OpenFiles& open_files_;
};

}  // namespace millrace
