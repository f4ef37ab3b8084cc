// FieldSelection: which columns make which field, as decode_csv's option `fields` says, and which names the header must
// give them, as its option `names` says.
//
//   fields: {features: {columns: 0-1023}, price: {columns: [open, close], type: float64, default: [0, nan]},
//            name: {columns: 7, type: string}, tags: {columns: 8, type: int32, split: " "},
//            image: {columns: 9-792, reshape: [1, 28, 28]}, city: {columns: 793, type: string, missing: ["?"]},
//            sold: {columns: 794, type: date, format: "%d/%m/%Y"}}
//
// It is read in two steps: the configuration when the op is made, header names and the number of columns when the op is
// bound. Constant after that.
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
#include "millrace/input/csv/default_values.h"
#include "millrace/input/csv/time_format.h"
#include "millrace/input/rows/row_block.h"

namespace millrace {

// A field with its columns, in the order of its elements.
struct SelectedField {
  FieldSpec spec;
  std::vector<uint32_t> columns;
  DefaultValues defaults;
  std::optional<std::vector<std::string>> missing = {};  // texts that stand for a missing value, instead of the op's
  std::optional<TimeFormat> time = {};                   // the texts are dates or times, the numbers seconds since 1970
};

// A field as the configuration describes it.
struct FieldRequest {
  // An index, a range of indices, or a header name.
  struct Item {
    std::string text;
    bool quoted = false;
    bool is_index = false;
    uint64_t first = 0, last = 0;  // both inclusive, if is_index
    Spec spec;                     // for messages

    // Whether the header decides how many columns the item stands for: a range in quotes may be a header name.
    bool is_open() const { return quoted && is_index && first != last; }
  };

  // As far as it is known without the header: never the columns; the shape and the defaults only if no item is open.
  SelectedField field;
  bool is_open = false;
  std::vector<Item> items;
  Spec default_value;
  std::optional<RowSizes> reshape;
  Spec reshape_node;  // for messages
  bool allow_nonfinite = true;
};

// The forms that the value of `fields` may have.
std::vector<OptionForm> field_forms();

// Reads the value of `fields`. Throws ConfigError for mistakes that do not depend on the data. `lists`: a column may be
// a list of values, so the shape of a field of one column is settled later.
std::vector<FieldRequest> read_fields(const Spec& fields, bool allow_nonfinite, bool lists = false);

// The columns of a field. Throws as select_fields() does.
std::vector<uint32_t> columns_of(const FieldRequest& request, const CsvDialect& dialect);

// Finds the columns. Throws ConfigError, at the place in the configuration, for a column that the records lack. If
// there is no record (dialect.columns == 0), header names stay unresolved, at column 0: nothing will be read.
std::vector<SelectedField> select_fields(const std::vector<FieldRequest>& requests, const CsvDialect& dialect);

// The field, if `columns` columns are selected. Throws ConfigError if its shape or defaults are for another number.
SelectedField field_of_columns(FieldRequest request, size_t columns);

// The names that the header must give to columns selected by index: {0: "", 2: length}. A file that has another column
// at that index is an error; it is not read as if it had the same columns.
class HeaderNames {
 public:
  // Reads the value of `names`; null means no names. Throws ConfigError.
  explicit HeaderNames(const Spec& names);

  // Throws ConfigError if there is no header; DataError, at the place of the name in the file, if the header gives one
  // of `columns` another name. Checks only columns that are in `columns`.
  void check(const std::vector<uint32_t>& columns, const CsvDialect& dialect) const;
  // The name of a column. None if none is given, or if a column before it has the same name.
  std::optional<std::string> of(uint64_t column) const;

 private:
  struct Name {
    uint32_t column = 0;
    std::string text = {};
    Spec spec = {};  // for messages
  };
  std::vector<Name> names_;
};

// The requests for text that has only the columns which they name, in the order of `names`, which receives their names.
// A column that is selected by index has the name that `header` gives it, else its number.
std::vector<FieldRequest> for_named_columns(std::vector<FieldRequest> requests, const HeaderNames& header,
                                            std::vector<std::string>& names);

// The names of a field's columns, as Op::column_names() gives them.
std::vector<std::string> column_names(const std::vector<FieldRequest>& requests, const HeaderNames& header,
                                      std::string_view field);

}  // namespace millrace
