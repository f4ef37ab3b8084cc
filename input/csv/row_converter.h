// RowConverter: turns the fields of a record into the numbers and texts of a row.
//
// Neighbouring columns of one field are parsed as a run. A value that a run cannot take (empty, missing, malformed) is
// handled by itself. Constant after construction, so any thread may use it.
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

// A value that cannot be converted.
struct BadValue {
  ValueFault fault = ValueFault::none;
  uint32_t column = 0;
  size_t field = 0;  // index of the selected field
  // If the value is one of a ragged field: its number, from 0, and its text.
  std::optional<size_t> value = {};
  std::string_view text = {};
};

// The rules that decide, besides the field's type, whether a text is a value.
struct ValueRules {
  // Texts that stand for a missing value, besides the empty text, in fields without a list of their own.
  std::vector<std::string> missing;
  bool allow_nonfinite = true;
};

class RowConverter final : public TextReader {
 public:
  RowConverter(std::vector<SelectedField> fields, ValueRules rules);

  RowSpec spec() const;
  const std::vector<SelectedField>& fields() const { return fields_; }

  // Fills row `row` of `rows`. False if a value cannot be converted: the row is then undefined, and find_fault() says
  // why. REQUIRES: the record has no fault and enough fields.
  [[nodiscard]] bool convert(const Record& record, RowBlock& rows, int64_t row) const;
  // Fills row `row` with what can be read of a bad record: texts only. Null: nothing can be read.
  void convert_bad(const Record* record, RowBlock& rows, int64_t row) const;
  // The leftmost bad value; if several fields read that column, the value of the first of these fields.
  BadValue find_fault(const Record& record) const;

  bool read(std::string_view text, size_t field, size_t element, Varying& out) const override;
  std::string text_of(size_t field, double value) const override;
  const std::vector<std::string>& missing(size_t field) const override { return missing_[field].texts; }

 private:
  // Neighbouring columns that are neighbouring elements of a field.
  struct Run {
    size_t field;
    size_t element;
    uint32_t column;
    size_t count;
  };

  // The texts that stand for a missing value in a field. `finite`: one of them is a finite number ("-999"), so texts
  // must be compared before they are parsed. `nonfinite`: one of them is another number ("nan"), which shows after
  // parsing.
  struct Missing {
    std::vector<std::string> texts = {};
    bool finite = false, nonfinite = false;
  };

  // These add the values to `out`, if it is not null.
  BadValue convert_one(std::string_view text, size_t field, size_t element, Varying* out) const;
  ValueFault convert_text(std::string_view text, size_t field, size_t element, Varying* out) const;
  BadValue convert_list(std::string_view text, size_t field, Varying* out) const;
  bool convert_varying(const Record& record, size_t field, Varying& out) const;
  template <class T>
  bool convert_run(const Record& record, const Run& run, T* out) const;
  template <class T>
  ValueFault convert_value(std::string_view text, size_t field, size_t element, T& out) const;
  template <class T>
  ValueFault convert_number(std::string_view text, size_t field, T& out) const;
  bool is_missing(std::string_view text, size_t field) const;

  std::vector<SelectedField> fields_;
  ValueRules rules_;
  std::vector<Missing> missing_;  // by field
  std::vector<Run> runs_;         // only fields of numbers have runs
  std::vector<size_t> varying_;   // fields whose size varies
};

}  // namespace millrace
