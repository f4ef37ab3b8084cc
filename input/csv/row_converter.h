// RowConverter: the fields of a record, as numbers and texts, in a row.
//
// Neighbouring columns of one field are parsed as a run; what a run cannot take (empty, missing, malformed) is looked
// at alone. Constant after construction, so any thread may use it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/input/csv/field_selection.h"
#include "millrace/input/csv/record_cutter.h"
#include "millrace/input/op.h"
#include "millrace/input/rows/row_block.h"

namespace millrace {

enum class ValueFault : uint8_t { none, required, malformed, out_of_range, nonfinite };

// A value that cannot be had.
struct BadValue {
  ValueFault fault = ValueFault::none;
  uint32_t column = 0;
  size_t field = 0;  // of the fields selected
  // Where the value is one of a ragged field: its number, from 0, and its text.
  std::optional<size_t> value = {};
  std::string_view text = {};
};

// What decides whether a text is a value, besides its type.
struct ValueRules {
  // Texts that stand for no value, besides the empty one, in fields that have none of their own.
  std::vector<std::string> missing;
  bool allow_nonfinite = true;
};

class RowConverter final : public TextReader {
 public:
  RowConverter(std::vector<SelectedField> fields, ValueRules rules);

  RowSpec spec() const;
  const std::vector<SelectedField>& fields() const { return fields_; }

  // Fills row `row` of `rows`. False when a value cannot be had; then the row is undefined and find_fault() says why.
  // REQUIRES: the record has no fault and enough fields.
  [[nodiscard]] bool convert(const Record& record, RowBlock& rows, int64_t row) const;
  // The leftmost bad value; where one column serves several fields, that of the first of them.
  BadValue find_fault(const Record& record) const;

  bool read(std::string_view text, size_t field, size_t element, Varying& out) const override;
  const std::vector<std::string>& missing(size_t field) const override { return missing_[field].texts; }

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

  // What stands for no value in a field, and whether such a text is a number that has to be told from others before it
  // is parsed ("-999"), or one that is seen afterwards ("nan").
  struct Missing {
    std::vector<std::string> texts = {};
    bool finite = false, nonfinite = false;
  };

  // These add the values to `out` where there is one.
  BadValue convert_one(std::string_view text, size_t field, size_t element, Varying* out) const;
  ValueFault convert_text(std::string_view text, size_t field, size_t element, Varying* out) const;
  BadValue convert_list(std::string_view text, size_t field, Varying* out) const;
  bool convert_varying(const Record& record, size_t field, Varying& out) const;
  template <class T>
  bool convert_run(const Record& record, const Run& run, T* out) const;
  template <class T>
  ValueFault convert_value(std::string_view text, size_t field, size_t element, T& out) const;
  template <class T>
  ValueFault convert_number(std::string_view text, T& out) const;
  bool is_missing(std::string_view text, size_t field) const;

  std::vector<SelectedField> fields_;
  ValueRules rules_;
  std::vector<Missing> missing_;   // by field
  std::vector<Run> runs_;          // of numbers
  std::vector<size_t> varying_;    // fields whose size varies
  std::vector<Target> by_column_;  // every value, leftmost first
};

}  // namespace millrace
