// HeaderNames: the names that the header must give to columns selected by index, as decode_csv's option `names` says. A
// file that has another column at that index is an error; it is not read as if it had the same columns.
//
//   {fields: {x: {columns: [0, 2, width]}}, names: {0: "", 2: length}}
//
// Constant after construction; any thread may use one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "millrace/core/spec.h"
#include "millrace/input/csv/csv_dialect.h"

namespace millrace {

class HeaderNames {
 public:
  // No names.
  HeaderNames() = default;
  // Reads the value of `names`. Throws ConfigError.
  explicit HeaderNames(const Spec& names);

  // Throws ConfigError if there is no header; DataError, at the place of the name in the file, if the header gives one
  // of `columns` another name. Checks only columns that are in `columns`.
  void check(const std::vector<uint32_t>& columns, const CsvDialect& dialect) const;

 private:
  struct Name {
    uint32_t column = 0;
    std::string text = {};
    Spec spec = {};  // for messages
  };
  std::vector<Name> names_;
};

}  // namespace millrace
