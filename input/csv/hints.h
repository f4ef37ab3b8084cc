// Hints for the mistakes of the first day: a delimiter, a header or a mark of missing values that was not announced.
#pragma once

#include <string>
#include <string_view>

#include "millrace/input/csv/csv_dialect.h"

namespace millrace {

// That a file which begins with `start`, its first record, is no text as it should be: compressed, another format,
// UTF-16, or with line ends of a CR alone; else empty. `from_pipe`: standard input could be read instead.
std::string encoding_hint(std::string_view start, bool from_pipe = true);

// "set csv_reader: {delimiter: ";"}" where `text`, all of a record, holds a usual delimiter; else empty.
std::string delimiter_hint(std::string_view text, const CsvDialect& dialect);

// That the first line is likely to be none of the data, where all records have to have its one field; else empty.
std::string first_line_hint(const CsvDialect& dialect);

// For a field `text` of `record` that should be a number; empty where nothing is likely to help.
std::string number_hint(std::string_view text, std::string_view record, const CsvDialect& dialect);

}  // namespace millrace
