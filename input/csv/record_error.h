// What is said about a record that cannot be used: fault, place, and how to mend it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "millrace/input/csv/csv_dialect.h"
#include "millrace/input/csv/record_cutter.h"
#include "millrace/input/csv/row_converter.h"

namespace millrace {

struct RecordError {
  std::string message;
  std::string hint;
  std::string field;        // the name of the field at fault, where it is one value's
  std::string value;        // and its text
  uint64_t line = 0;        // line ends between the chunk's first record and the line to name
  int64_t column = 1;       // 1-based byte in its line
  bool certain_end = true;  // the record may be left out: where it ends is known
};

// REQUIRES: record.fault() != none.
RecordError syntax_error(const Record& record, const CsvDialect& dialect);
RecordError blank_line_error(const Record& record);
// The record has another number of fields than dialect.columns.
RecordError field_count_error(const Record& record, const CsvDialect& dialect);
RecordError value_error(const Record& record, const BadValue& bad, const RowConverter& converter,
                        const CsvDialect& dialect);

}  // namespace millrace
