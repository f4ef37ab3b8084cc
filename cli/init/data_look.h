// DataLook: the facts that `trainer init` finds in the data: the form of the files and the facts of every column. The
// data are read once, by the ops that a training reads with. Functions only; any thread may call them.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/cli/init/column_facts.h"
#include "millrace/core/spec.h"
#include "millrace/input/files/file_system.h"

namespace millrace {

// Sniffing: how a CSV file is written, found out from its first bytes: the delimiter, quotes, lines before the table,
// and whether the first record names the columns.
struct SniffArgs {
  std::string_view head;  // the first bytes of the file
  bool whole = false;     // `head` is the whole file
  std::string path;       // for messages
  // Facts that the user gives.
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
  // The file is no text, but Parquet; what is in each column that is not looked at, such as a list.
  bool parquet = false;
  std::vector<std::string> refused = {};

  bool is_read(size_t column) const { return !parquet || refused[column].empty(); }
};

// Throws DataError for text that is not CSV, for a file without rows, and for a header that does not fit the rows.
CsvForm sniff_csv(const SniffArgs& args);

// The options of csv_reader for files of this form.
Spec reader_options(const CsvForm& form);

struct DataLookArgs {
  std::vector<std::string> files;  // paths and patterns, as for the op filename_queue
  std::string label;               // as the user names the column
  std::optional<char> delimiter = {};
  std::optional<bool> header = {};
  uint64_t most_bytes = uint64_t{256} << 20;  // of text; the rest is not looked at
  FileSystem* file_system = &FileSystem::local();
};

struct DataLook {
  std::vector<std::string> patterns;  // for filename_queue; each matches a file that no earlier one matches
  std::vector<std::string> paths;     // the files that the patterns match
  CsvForm form;
  std::vector<ColumnFacts> columns;
  size_t label = 0;  // the column of the label
  uint64_t rows = 0;
  uint64_t bytes = 0, all_bytes = 0;
  bool whole = true;  // every row was looked at
  // Records that do not have as many fields as the others; and the first few of them, each with its place and what is
  // wrong.
  uint64_t bad_rows = 0;
  std::vector<std::string> bad_examples;

  std::set<std::string> repeated;  // names that several columns have

  bool is_named(size_t column) const { return !form.names.empty() && !form.names[column].empty(); }
  // The column's name in messages: its name; its name and number, if several columns have that name; or its number, if
  // it has no name.
  std::string name_of(size_t column) const;
  // Whether there is a header, whose name for the column a configuration can hold; and whether that name is not empty,
  // and no other column has it.
  bool has_name(size_t column) const;
  bool has_own_name(size_t column) const;
};

// Throws ConfigError for a label that is not a column, MissingError and IoError for files, DataError for data that no
// training could read.
DataLook look_at_data(const DataLookArgs& args);

// The column that a user calls `name`: by its name in the header, else by its number from 0. Throws ConfigError if
// there is none, or the header has the name several times; the message begins with `what`.
size_t find_column(const CsvForm& form, const std::string& name, const std::string& what);

}  // namespace millrace
