// DataLook: what `trainer init` sees of the data: the form of the files, and the facts of every column, read once by
// the same ops that a training reads with.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "millrace/cli/init/column_facts.h"
#include "millrace/cli/init/sniff.h"
#include "millrace/core/errors.h"
#include "millrace/input/op.h"

namespace millrace {

struct DataLookArgs {
  std::vector<std::string> files;  // paths and patterns, as for the op filename_queue
  std::string label;               // as the user names the column
  std::optional<char> delimiter = {};
  std::optional<bool> header = {};
  uint64_t most_bytes = uint64_t{256} << 20;  // of text; more is not looked at
  FileSystem* file_system = nullptr;          // null: that of this machine
};

struct DataLook {
  std::vector<std::string> patterns;  // for filename_queue; each matches a file that none before it does
  std::vector<std::string> paths;     // what they match
  CsvForm form;
  std::vector<ColumnFacts> columns;
  size_t label = 0;  // its column
  uint64_t rows = 0;
  uint64_t bytes = 0, all_bytes = 0;
  bool whole = true;  // every row was looked at
  // Records that cannot be cut into as many fields as the others, and the first of them with what is wrong.
  uint64_t bad_rows = 0;
  std::vector<std::string> bad_examples;

  std::set<std::string> repeated;  // names that several columns have

  bool is_named(size_t column) const { return !form.names.empty() && !form.names[column].empty(); }
  // How the column is called: by its name, where that tells it from the others, and by its number.
  std::string name_of(size_t column) const;
  // Whether the header calls the column something that a configuration can hold, and no other column so.
  bool has_name(size_t column) const;
  bool has_own_name(size_t column) const;
};

// The most columns that it looks at.
inline constexpr size_t kMostLookColumns = 65536;

// Throws UsageError-like ConfigError for a label that is no column, MissingError and IoError for files, DataError for
// data that no training could read.
DataLook look_at_data(const DataLookArgs& args);

// The column that a user calls `name`: by its header name, else by its number from 0. Throws ConfigError, whose message
// begins with `what`.
size_t find_column(const CsvForm& form, const std::string& name, const std::string& what);

}  // namespace millrace
