// HeaderNames: what the header has to call columns that are selected by index, as decode_csv's option `names` says.
// Another file that has another column there is an error, and is not read as if it had the same ones.
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
  // None.
  HeaderNames() = default;
  // The value of `names`. Throws ConfigError.
  explicit HeaderNames(const Spec& names);

  // Throws ConfigError where there is no header; DataError, at its place in the file, where the header calls one of
  // `columns` otherwise.
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
