#include "millrace/input/csv/bad_rows_file.h"

#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "millrace/core/utf8.h"

namespace millrace {

void BadRowsFile::add(const BadRow& row) {
  if (row.place.file == path_) {
    throw ConfigError(cat("bad_rows_file would replace the input file ", path_), {}, "give it a path of its own");
  }
  if (!out_.is_open()) open();
  const bool has_value = !row.field.empty();
  out_ << "{\"file\":" << json_string(row.place.file) << ",\"line\":" << cat(row.place.line)
       << ",\"column\":" << cat(row.place.column) << ",\"field\":" << (has_value ? json_string(row.field) : "null")
       << ",\"text\":" << (has_value ? json_string(row.text) : "null") << ",\"reason\":" << json_string(row.reason)
       << "}\n"
       << std::flush;
  if (!out_) throw IoError("cannot write the file of bad rows", {path_});
}

void BadRowsFile::open() {
  out_.open(path_, std::ios::binary | std::ios::trunc);
  if (!out_)
    throw IoError("cannot write the file of bad rows", {path_}, "is there such a folder, and may you write to it?");
}

}  // namespace millrace
