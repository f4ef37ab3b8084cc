// The start of a CSV file, before its first record: a byte order mark, skipped lines, the header.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "millrace/input/csv/csv_dialect.h"
#include "millrace/input/csv/file_text.h"

namespace millrace {

struct Preamble {
  uint64_t lines = 0;        // line ends in it
  bool has_header = false;   // text.scratch() holds the header; false also when the file ends before it
  uint64_t header_line = 0;  // line ends before the header
};

// Passes a line, whatever is in it; the end of the file ends one, too. REQUIRES: there is one.
void skip_line(FileText& text);

// Passes the preamble of the file that `text` starts with, a header only where `header` says that there is one:
// afterwards `text` starts behind it. Throws DataError for a header that cannot be cut into fields, IoError.
Preamble pass_preamble(FileText& text, bool header, const CsvDialect& dialect, const FileEntry& file);

}  // namespace millrace
