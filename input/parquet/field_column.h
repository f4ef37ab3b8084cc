// FieldColumn: a column of a file and the place of its values in a field: conversion, missing values, rules. Constant;
// any thread may use it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/input/csv/field_selection.h"
#include "millrace/input/csv/row_converter.h"
#include "millrace/input/parquet/conversion.h"
#include "millrace/input/parquet/page_values.h"
#include "millrace/input/parquet/schema.h"

namespace millrace {

struct FieldColumnArgs {
  const SelectedField& field;  // as all files have it; it outlives the column
  size_t field_number = 0;
  size_t element = 0;  // which value of the field the column is
  const ParquetColumn& column;
  uint32_t number = 0;  // of the column in the file
  const ValueRules& rules;
};

class FieldColumn {
 public:
  // Throws ConfigError, without a place, if the field cannot hold what the column does.
  explicit FieldColumn(const FieldColumnArgs& args);

  const SelectedField& field() const { return field_; }
  size_t field_number() const { return field_number_; }
  size_t element() const { return element_; }
  const ParquetColumn& column() const { return column_; }
  uint32_t number() const { return number_; }
  const Conversion& conversion() const { return conversion_; }
  std::string name() const;  // for messages: column "a" (features)
  size_t value_bytes() const { return size_of(field_.spec.dtype); }

  bool has_default() const { return field_.defaults.given; }
  // What a missing value becomes, the `i`-th after the column's first one if it is a list. REQUIRES: has_default().
  const std::byte* default_number(size_t i = 0) const {
    return field_.defaults.numbers.data() + (element_ + i) * value_bytes();
  }
  std::string_view default_text() const { return field_.defaults.texts[element_]; }

  // Whether a text stands for a missing value.
  bool is_missing(std::string_view text) const;
  // Whether some numbers have to be looked at when they are converted: they mean a missing value, or are refused.
  bool checks_numbers() const { return checks_numbers_; }
  // Whether some values in the file stand for missing ones, or are refused.
  bool changes_values() const { return checks_numbers_ || !missing_texts_.empty(); }
  // What is wrong with a number in the field's type: `required` if it means a missing value.
  ValueFault fault_of(const std::byte* number) const;
  // Converts a text. A text that means a missing value becomes the default.
  ValueFault convert_text(std::string_view text, std::byte* to) const;

  // The dictionary whose `size` values are written in the first `byte_count` of `bytes`. Throws DataError, without a
  // place, if it has fewer.
  std::shared_ptr<const Dictionary> dictionary(PageBytes bytes, size_t byte_count, size_t size,
                                               ValueScratch& scratch) const;

 private:
  const SelectedField& field_;
  const size_t field_number_, element_;
  const ParquetColumn column_;
  const uint32_t number_;
  const Conversion conversion_;
  std::vector<std::string> missing_texts_;
  std::vector<std::byte> missing_numbers_;
  bool checks_numbers_ = false, allow_nonfinite_ = true;
};

}  // namespace millrace
