// The error of a record that cannot be used: its fault, its place, and how to mend it.
#pragma once

#include <cstdint>
#include <string>

#include "millrace/input/csv/csv_dialect.h"
#include "millrace/input/csv/record_cutter.h"
#include "millrace/input/csv/row_converter.h"

namespace millrace {

struct RecordError {
  std::string message;
  std::string hint;
  std::string field = {};   // the name of the field at fault, if one value is at fault
  std::string value = {};   // the text of that value
  uint64_t line = 0;        // line ends between the chunk's first record and the line to name
  int64_t column = 1;       // byte in the line, from 1
  bool certain_end = true;  // whether it is known where the record ends, so that it may be left out
};

// REQUIRES: record.fault() != none.
RecordError syntax_error(const Record& record, const CsvDialect& dialect);
RecordError blank_line_error(const Record& record);
// For a record whose number of fields is not dialect.columns.
RecordError field_count_error(const Record& record, const CsvDialect& dialect);
RecordError value_error(const Record& record, const BadValue& bad, const RowConverter& converter,
                        const CsvDialect& dialect);

}  // namespace millrace
