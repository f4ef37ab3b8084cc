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
  bool whole = false;     // they are all of it
  std::string path;       // for messages
  // What is known already.
  std::optional<char> delimiter = {};
  std::optional<bool> header = {};
  std::string label = {};  // where a field of the first record is called so, that record is a header
};

struct CsvForm {
  char delimiter = ',';
  bool quotes = true;
  int64_t skip_lines = 0;
  bool header = false;
  size_t columns = 0;
  std::vector<std::string> names;  // of the header; empty without one
  // The header has names for all columns but the first, which holds names of rows, as R writes it. It is passed over
  // with the lines above it, and `header` is false; `names` has an empty one for the first column.
  bool row_names = false;
  // How a file whose fields blanks separate can be read; empty for others.
  std::string blanks_hint = {};
};

// Throws DataError: for what is no CSV text, a file without rows, and a header unlike the rows.
CsvForm sniff_csv(const SniffArgs& args);

// The options of csv_reader for files of this form.
Spec reader_options(const CsvForm& form);

}  // namespace millrace
