// Hints for the mistakes of a first day: a delimiter, a header or a text for missing values that was not configured.
#pragma once

#include <string>
#include <string_view>

#include "millrace/input/csv/csv_dialect.h"

namespace millrace {

// Says why a file that begins with `start`, its first record, is not the text that it should be: it is compressed, in
// another format, UTF-16 or UTF-32, or its line ends are only a CR. Else empty. `from_pipe`: standard input could be
// read instead.
std::string encoding_hint(std::string_view start, bool from_pipe = true);

// "set csv_reader: {delimiter: ";"}" if `text`, a whole record, holds a usual delimiter; else empty.
std::string delimiter_hint(std::string_view text, const CsvDialect& dialect);

// Says that the first line is likely not to be data, if the first record has one field, so that all records must have
// one; else empty.
std::string first_line_hint(const CsvDialect& dialect);

// A hint for a field `text` of `record` that should be a number; empty if nothing is likely to help.
std::string number_hint(std::string_view text, std::string_view record, const CsvDialect& dialect);

}  // namespace millrace
