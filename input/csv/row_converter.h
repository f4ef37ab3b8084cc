// RowConverter: the fields of a record, as numbers, in a row.
//
// Neighbouring columns of one field are parsed as a run; what a run cannot take (empty, missing, malformed) is looked
// at alone. Constant after construction, so any thread may use it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/input/csv/field_selection.h"
#include "millrace/input/csv/record_cutter.h"
#include "millrace/input/graph/row_block.h"

namespace millrace {

enum class ValueFault : uint8_t { none, required, malformed, out_of_range, nonfinite };

// A value that cannot be had.
struct BadValue {
  ValueFault fault = ValueFault::none;
  uint32_t column = 0;
  size_t field = 0;  // of the fields selected
};

// What decides whether a text is a value, besides its type.
struct ValueRules {
  std::vector<std::string> missing;  // texts that stand for no value, besides the empty one
  bool allow_nonfinite = true;
};

class RowConverter {
 public:
  RowConverter(std::vector<SelectedField> fields, ValueRules rules);

  RowSpec spec() const;
  const std::vector<SelectedField>& fields() const { return fields_; }

  // Fills row `row` of `rows`. False when a value cannot be had; then the row is undefined and find_fault() says why.
  // REQUIRES: the record has no fault and enough fields.
  [[nodiscard]] bool convert(const Record& record, RowBlock& rows, int64_t row) const;
  // The leftmost bad value; where one column serves several fields, that of the first of them.
  BadValue find_fault(const Record& record) const;

 private:
  // Neighbouring columns that are neighbouring elements of a field.
  struct Run {
    size_t field;
    size_t element;
    uint32_t column;
    size_t count;
  };
  struct Target {
    uint32_t column;
    uint32_t field;
    uint32_t element;
  };

  template <class T>
  bool convert_run(const Record& record, const Run& run, T* out) const;
  template <class T>
  ValueFault convert_value(std::string_view text, const SelectedField& field, size_t element, T& out) const;
  ValueFault check_value(std::string_view text, const Target& target) const;
  bool is_missing(std::string_view text) const;

  std::vector<SelectedField> fields_;
  ValueRules rules_;
  std::vector<Run> runs_;
  std::vector<Target> by_column_;  // every value, leftmost first
};

}  // namespace millrace
