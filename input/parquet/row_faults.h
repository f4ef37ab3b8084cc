// RowFaults: the rows of a chunk with a value that cannot be one of its field. Used by one task.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "millrace/core/errors.h"
#include "millrace/input/parquet/field_column.h"

namespace millrace {

struct RowFault {
  int64_t row = 0;  // of the chunk
  const FieldColumn* column = nullptr;
  ValueFault fault = ValueFault::none;
  std::string value = {};              // as text
  std::optional<size_t> element = {};  // of a list: which of its values
  std::optional<size_t> length = {};   // of a list that should have another length
};

// What is wrong with the row, and how to mend it; without a place.
DataError error_of(const RowFault& fault);

class RowFaults {
 public:
  void clear();
  bool empty() const { return faults_.empty(); }
  // Of each row the leftmost fault counts; if several fields have that column, the fault of the first field.
  void add(RowFault fault);
  // In the order of the rows.
  std::vector<RowFault> take();

 private:
  std::vector<RowFault> faults_;
  std::vector<uint32_t> by_row_;  // the number of a row's fault, plus 1
};

}  // namespace millrace
