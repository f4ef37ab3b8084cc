// FieldSelection: which columns make which field, as decode_csv's `fields` say.
//
//   fields: {features: {columns: 0-1023}, price: {columns: [open, close], type: float64, default: [0, nan]},
//            name: {columns: 7, type: string}, tags: {columns: 8, type: int32, split: " "},
//            image: {columns: 9-792, reshape: [1, 28, 28]}, city: {columns: 793, type: string, missing: ["?"]}}
//
// Read in two steps: the configuration when the op is made, header names and the number of columns when it is bound.
// Constant afterwards.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/core/options.h"
#include "millrace/core/row_sizes.h"
#include "millrace/input/csv/csv_dialect.h"
#include "millrace/input/rows/row_block.h"

namespace millrace {

// What a missing value becomes: numbers of the field's type, or texts. One for each column; of a ragged field any
// number.
struct DefaultValues {
  bool given = false;
  std::vector<std::byte> numbers = {};
  std::vector<std::string> texts = {};
};

// A field as it was asked for.
struct FieldRequest {
  // An index, a range of them, or a header name.
  struct Item {
    std::string text;
    bool quoted = false;
    bool is_index = false;
    uint64_t first = 0, last = 0;  // inclusive, when is_index
    Spec spec;                     // for messages

    // Whether the header decides how many columns it is: a range in quotes may be a name.
    bool is_open() const { return quoted && is_index && first != last; }
  };

  FieldSpec spec;
  std::vector<Item> items;
  Spec default_value;
  std::optional<RowSizes> reshape;
  Spec reshape_node;  // for messages
  bool allow_nonfinite = true;
  std::optional<std::vector<std::string>> missing;  // in place of what stands for no value elsewhere
  // Known before the header is, unless an item is open.
  bool is_open = false;
  DefaultValues defaults;
};

// How the value of `fields` may be written.
std::vector<OptionForm> field_forms();

// The value of `fields`. Throws ConfigError for what is wrong whatever the data are.
std::vector<FieldRequest> read_fields(const Spec& fields, bool allow_nonfinite);

// A field with its columns, in the order of its elements.
struct SelectedField {
  FieldSpec spec;
  std::vector<uint32_t> columns;
  DefaultValues defaults;
  std::optional<std::vector<std::string>> missing = {};
};

// Finds the columns. Throws ConfigError, at the place in the configuration, for a column that the records lack.
// Without any record (dialect.columns == 0) header names stay unresolved, at column 0: nothing will be read.
std::vector<SelectedField> select_fields(const std::vector<FieldRequest>& requests, const CsvDialect& dialect);

}  // namespace millrace
