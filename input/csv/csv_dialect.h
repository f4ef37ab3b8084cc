// CsvDialect: how text is cut into records and fields; and hints for the mistakes of a first day: a delimiter, a header
// or a text for missing values that was not configured.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/input/op.h"

namespace millrace {

struct CsvDialect final : TextFormat {
  std::string_view name() const override { return "CSV"; }
  int64_t nameless_fields() const override { return header.empty() ? columns : 0; }
  std::string field_name(size_t index) const override {
    return index < header.size() ? header[index] : TextFormat::field_name(index);
  }

  char delimiter = ',';
  std::optional<char> quote = '"';
  std::optional<char> comment;  // a record that starts with it is skipped
  bool skip_blank_lines = true;
  int64_t skip_lines = 0;  // at the start of every file, before its header
  // How many fields every record has, by the header or else by the first file's first record; 0 if there is no record.
  int64_t columns = 0;
  std::vector<std::string> header;  // empty without a header
  // The bytes of the header, or of the record whose fields were counted, and the path of its file; for messages.
  std::string first_record;
  std::string file;
  int64_t header_line = 0;      // its line in `file`, from 1; 0 without a header
  bool numbers_columns = true;  // whether messages give the numbers of columns besides their names

  bool operator==(const CsvDialect&) const = default;
};

// A hint for a file that begins with the record `start`, if foreign_file() knows its format, or its line ends are only
// a CR; else empty. `from_pipe`: standard input could be read instead.
std::string encoding_hint(std::string_view start, bool from_pipe = true);

// "set csv_reader: {delimiter: ";"}" if `text`, a whole record, holds a usual delimiter; else empty.
std::string delimiter_hint(std::string_view text, const CsvDialect& dialect);

// Says that the first line is likely not to be data, if the first record has one field, so that all records must have
// one; else empty.
std::string first_line_hint(const CsvDialect& dialect);

// A hint for a field `text` of `record` that should be a number; empty if nothing is likely to help.
std::string number_hint(std::string_view text, std::string_view record, const CsvDialect& dialect);

}  // namespace millrace
