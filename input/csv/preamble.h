// The start of a CSV file, before its first record: a byte order mark, skipped lines, the header.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "millrace/input/csv/csv_dialect.h"
#include "millrace/input/csv/file_text.h"

namespace millrace {

struct Preamble {
  uint64_t lines = 0;        // line ends in the preamble
  bool has_header = false;   // text.scratch() holds the header; also false if the file ends before it
  uint64_t header_line = 0;  // line ends before the header
};

// Passes a line, whatever is in it; the end of the file ends a line, too. REQUIRES: there is a line.
void skip_line(FileText& text);

// Passes the preamble that `text` starts with; the preamble has a header only if `header` is true. After the call,
// `text` starts after the preamble. Throws DataError for a header that cannot be cut into fields; IoError.
Preamble pass_preamble(FileText& text, bool header, const CsvDialect& dialect, const FileEntry& file);

}  // namespace millrace
