// Sniffing: how a CSV file is written, found out from its first bytes: the delimiter, quotes, lines before the table,
// and whether the first record names the columns. Functions only; any thread may call them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/core/spec.h"

namespace millrace {

struct SniffArgs {
  std::string_view head;  // the first bytes of the file
  bool whole = false;     // `head` is the whole file
  std::string path;       // for messages
  // What is known already.
  std::optional<char> delimiter = {};
  std::optional<bool> header = {};
  std::string label = {};  // if a field of the first record has this text, that record is a header
};

struct CsvForm {
  char delimiter = ',';
  bool quotes = true;
  int64_t skip_lines = 0;
  bool header = false;
  size_t columns = 0;
  std::vector<std::string> names;  // from the header; empty without one
  // The header names all columns except the first, which holds the names of rows, as R writes it. Such a header is
  // skipped like the lines above it, and `header` is false; the first of `names` is empty.
  bool row_names = false;
  // How to read a file whose fields are separated by blanks; empty for other files.
  std::string blanks_hint = {};
};

// Throws DataError for text that is not CSV, for a file without rows, and for a header that does not fit the rows.
CsvForm sniff_csv(const SniffArgs& args);

// The options of csv_reader for files of this form.
Spec reader_options(const CsvForm& form);

}  // namespace millrace
