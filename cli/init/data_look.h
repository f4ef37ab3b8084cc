// DataLook: what `trainer init` sees of the data: the form of the files and the facts of every column. The data are
// read once, by the ops that a training reads with.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "millrace/cli/init/column_facts.h"
#include "millrace/cli/init/sniff.h"
#include "millrace/core/errors.h"
#include "millrace/input/files/file_system.h"

namespace millrace {

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
  // What messages call the column: its name; its name and number, if several columns have that name; or its number, if
  // it has no name.
  std::string name_of(size_t column) const;
  // Whether there is a header, whose name for the column a configuration can hold; and whether that name is not empty,
  // and no other column has it.
  bool has_name(size_t column) const;
  bool has_own_name(size_t column) const;
};

// The most columns that look_at_data() looks at.
inline constexpr size_t kMostLookColumns = 65536;

// Throws ConfigError for a label that is not a column, MissingError and IoError for files, DataError for data that no
// training could read.
DataLook look_at_data(const DataLookArgs& args);

// The column that a user calls `name`: by its name in the header, else by its number from 0. Throws ConfigError if
// there is none, or the header has the name several times; the message begins with `what`.
size_t find_column(const CsvForm& form, const std::string& name, const std::string& what);

}  // namespace millrace
