// ListRows: rows of a field whose values come as lists: any number of values, or a fixed number of them. Used by one
// task.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "millrace/input/parquet/field_column.h"
#include "millrace/input/parquet/row_faults.h"
#include "millrace/input/rows/row_block.h"

namespace millrace {

// The bytes of texts and lists that one chunk may have. A few bytes of a file may stand for as many as one likes.
class VaryingLimit {
 public:
  void clear() { bytes_ = 0; }
  // Throws DataError, without a place, if there are too many now.
  void add(uint64_t bytes);

 private:
  uint64_t bytes_ = 0;
};

class ListRows {
 public:
  struct Args {
    const FieldColumn& column;
    RowBlock& rows;
    int64_t row = 0;  // the first one
    RowFaults& faults;
    VaryingLimit& limit;
  };
  explicit ListRows(const Args& args);

  // Begins the next row. The functions below add to it.
  void begin_row();
  // Says that another value of the row follows. Throws DataError, without a place, if it has none.
  void go_on() const;
  // The row's list is missing or empty. Throws as go_on() does if it has values already.
  void close();
  void add_text(std::string_view text);
  // Numbers in the field's type. More than one only if FieldColumn::checks_numbers() is false.
  void add_numbers(const std::byte* numbers, size_t count);
  void add_bad(RowFault fault);
  void add_missing_value();
  void add_missing_list();
  // Ends the last row.
  void end();

 private:
  void put(const std::byte* numbers, size_t count);
  RowFault fault(ValueFault what) const;

  const Args args_;
  const FieldSpec& spec_;
  const size_t number_bytes_;
  const size_t size_;           // of a row; 0 if rows differ
  int64_t row_;                 // the one that was begun
  Varying* list_ = nullptr;     // its values, if rows differ
  std::byte* fixed_ = nullptr;  // else its values
  size_t length_ = 0;           // how many values it has so far
  bool closed_ = false;         // it has no values
  bool judged_ = true;          // its length is as it should be, or is told already
};

}  // namespace millrace
